-- Like metrics-events.sql, without filters: selected hours from rollups, all others from rows. Sessions, bounces and
-- durations only from rollups; metrics-sessions-rows.sql has the row hours.
WITH pieces AS
(
    SELECT
        toInt64(toUnixTimestamp(hour)) * 1000 AS atMs, screenViews, visitors, CAST(revenue, 'Map(String, Int128)') AS revenue,
        begun AS sessions, bounced AS bounces, lastedMs AS durationMs
    FROM hourly_totals
    WHERE projectId = {site:String} AND $ROLLUP_HOURS$
    UNION ALL
    SELECT
        roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS atMs,
        countIf(name = {screenView:String}) AS screenViews,
        groupUniqArrayIf(visitor, visitor != 0 AND name NOT IN {synthetic:Array(String)}) AS visitors,
        sumMapIf(map(toString(currency), toInt128(revenue)), revenue != 0) AS revenue,
        0 AS sessions, 0 AS bounces, 0 AS durationMs
    FROM $ROW_EVENTS$
    GROUP BY atMs
)
SELECT
    isCurrent,
    grouping(edge) AS isTotal,
    edge,
    sum(screenViews) AS screenViews,
    uniqExactArrayMerge(visitors) AS visitors,
    mapApply((code, amount) -> (code, toString(amount)), sumMap(revenue)) AS revenue,
    sum(sessions) AS sessions,
    sum(bounces) AS bounces,
    sum(durationMs) AS durationMs
FROM
(
    SELECT
        atMs >= {from:Int64} AS isCurrent,
        roundDown(atMs, {edges:Array(Int64)}) AS edge,
        sum(screenViews) AS screenViews,
        uniqExactArrayState(visitors) AS visitors,
        sumMap(revenue) AS revenue,
        sum(sessions) AS sessions,
        sum(bounces) AS bounces,
        sum(durationMs) AS durationMs
    FROM pieces
    GROUP BY isCurrent, edge
)
-- The total merges the buckets' visitor sets.
GROUP BY GROUPING SETS ((isCurrent), (isCurrent, edge))
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
