-- The first event of each visitor in each of two spans, ties by id, by the values of its own fields and by bucket; else as
-- export-charts-values.sql.
WITH found AS
(
    SELECT roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge, createdAt, id, $COLUMNS$
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND (createdAt >= fromUnixTimestamp64Milli({from:Int64}) AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            OR createdAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND createdAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND if({event:String} = {anyEvent:String}, name NOT IN {synthetic:Array(String)}, name = {event:String})
        AND ($FILTER$)
    UNION ALL
    SELECT roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge, createdAt, id, $COLUMNS$
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND (createdAt >= fromUnixTimestamp64Milli({from:Int64}) AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            OR createdAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND createdAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND if({event:String} = {anyEvent:String}, name NOT IN {synthetic:Array(String)}, name = {event:String})
        AND ($HOT_FILTER$)
),
firsts AS
(
    SELECT isCurrent, argMin((edge, combinations), (createdAt, id)) AS first
    FROM (SELECT *, edge >= {from:Int64} AS isCurrent FROM found WHERE isMeasured)
    GROUP BY isCurrent, measured
)
SELECT
    names,
    sumIf(figure, isTotal AND isCurrent) AS whole,
    sumIf(figure, isTotal AND NOT isCurrent) AS wholeBefore,
    groupArrayIf(edge, NOT isTotal) AS edges,
    groupArrayIf(figure, NOT isTotal) AS figures
FROM
(
    SELECT
        names,
        isCurrent,
        grouping(edge) AS isTotal,
        edge,
        toFloat64(count()) AS figure
    FROM (SELECT isCurrent, first.1 AS edge, arrayJoin(first.2) AS names FROM firsts)
    GROUP BY GROUPING SETS ((names, isCurrent), (names, isCurrent, edge))
)
GROUP BY names
ORDER BY max(isCurrent) DESC, sumIf(figure, isCurrent AND NOT isTotal) DESC, names
LIMIT {rows:UInt32}
