-- As metrics-events.sql without filters: from the sums of those hours that have them, and from rows for the others.
WITH pieces AS
(
    SELECT toInt64(toUnixTimestamp(hour)) * 1000 AS atMs, screenViews, visitors, revenue
    FROM hourly_totals
    WHERE projectId = {site:String}
        AND $SUMMED_HOURS$
    UNION ALL
    SELECT
        roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS atMs,
        countIf(name = {screenView:String}) AS screenViews,
        groupUniqArrayIf(visitor, visitor != 0 AND name NOT IN {synthetic:Array(String)}) AS visitors,
        sumMapIf(map(toString(currency), revenue), revenue != 0) AS revenue
    FROM
    (
        SELECT createdAt, revenue, currency, name, $VISITOR$ AS visitor
        FROM events
        WHERE projectId = {site:String}
            AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
            AND toStartOfHour(createdAt) IN (SELECT toDateTime(arrayJoin({rowHours:Array(UInt32)}), 'UTC'))
            AND (createdAt >= fromUnixTimestamp64Milli({from:Int64}) AND createdAt < fromUnixTimestamp64Milli({to:Int64})
                OR createdAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                    AND createdAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        UNION ALL
        SELECT createdAt, revenue, currency, name, $VISITOR$ AS visitor
        FROM $HOT_EVENTS$
        WHERE projectId = {site:String}
            AND (createdAt >= fromUnixTimestamp64Milli({from:Int64}) AND createdAt < fromUnixTimestamp64Milli({to:Int64})
                OR createdAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                    AND createdAt < fromUnixTimestamp64Milli({previousTo:Int64}))
    )
    GROUP BY atMs
)
SELECT
    isCurrent,
    grouping(edge) AS isTotal,
    edge,
    sum(screenViews) AS screenViews,
    uniqExactArrayMerge(visitors) AS visitors,
    mapApply((code, amount) -> (code, toString(amount)), sumMap(revenue)) AS revenue
FROM
(
    SELECT
        atMs >= {from:Int64} AS isCurrent,
        roundDown(atMs, {edges:Array(Int64)}) AS edge,
        sum(screenViews) AS screenViews,
        uniqExactArrayState(visitors) AS visitors,
        sumMap(revenue) AS revenue
    FROM pieces
    GROUP BY isCurrent, edge
)
-- The sets of visitors of the buckets are united for the total.
GROUP BY GROUPING SETS ((isCurrent), (isCurrent, edge))
-- The hours that are read from rows are few, and the index leads to them.
SETTINGS use_index_for_in_with_subqueries = 1
