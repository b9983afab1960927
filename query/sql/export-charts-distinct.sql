-- How many different visitors, sessions or groups the events of a series have, or how many events for each; else as
-- export-charts-values.sql.
WITH found AS
(
    SELECT roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge, $COLUMNS$
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND (createdAt >= fromUnixTimestamp64Milli({from:Int64}) AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            OR createdAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND createdAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND if({event:String} = {anyEvent:String}, name NOT IN {synthetic:Array(String)}, name = {event:String})
        AND ($FILTER$)
    UNION ALL
    SELECT roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge, $COLUMNS$
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND (createdAt >= fromUnixTimestamp64Milli({from:Int64}) AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            OR createdAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND createdAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND if({event:String} = {anyEvent:String}, name NOT IN {synthetic:Array(String)}, name = {event:String})
        AND ($HOT_FILTER$)
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
        uniqExactMerge(told) AS different,
        if({figure:String} = 'average', sum(events) / different, toFloat64(different)) AS figure
    FROM
    (
        SELECT names, isCurrent, edge, count() AS events, uniqExactState(measured) AS told
        FROM (SELECT names, edge, edge >= {from:Int64} AS isCurrent, measured FROM found WHERE isMeasured)
        GROUP BY names, isCurrent, edge
    )
    -- The sets of the buckets are united for the whole: every event is looked at once only.
    GROUP BY GROUPING SETS ((names, isCurrent), (names, isCurrent, edge))
)
GROUP BY names
ORDER BY max(isCurrent) DESC, sumIf(figure, isCurrent AND NOT isTotal) DESC, names
LIMIT {rows:UInt32}
