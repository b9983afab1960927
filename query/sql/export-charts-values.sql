-- What a series makes of a number of each event (of 1, where events are counted), by the values of its breakdowns, by
-- bucket, and of two spans of time as a whole. A bucket goes by the name of its first millisecond; `edges` are those of
-- all buckets of both spans. One row for each combination of values: those with something in the later span first, and
-- of these those with the greatest sum.
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
        -- The error of a long sum is not more than that of its last step.
        multiIf(
            {figure:String} = 'sum', sumKahan(number),
            {figure:String} = 'average', sumKahan(number) / count(),
            {figure:String} = 'max', max(number),
            {figure:String} = 'min', min(number),
            toFloat64(count())) AS figure
    FROM (SELECT names, edge, edge >= {from:Int64} AS isCurrent, assumeNotNull(measured) AS number FROM found WHERE isMeasured)
    GROUP BY GROUPING SETS ((names, isCurrent), (names, isCurrent, edge))
)
GROUP BY names
ORDER BY max(isCurrent) DESC, sumIf(figure, isCurrent AND NOT isTotal) DESC, names
LIMIT {rows:UInt32}
