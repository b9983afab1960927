-- As metrics-finalized.sql where the visitors are too many to be cached: their exact numbers alone.
SELECT
    grouping(edge) AS isTotal,
    edge,
    sum(screenViews) AS screenViews,
    mapApply((code, amount) -> (code, toString(amount)), sumMap(revenue)) AS revenue,
    sum(sessions) AS sessions,
    sum(bounces) AS bounces,
    sum(durationMs) AS durationMs,
    uniqExactArrayMerge(visitors) AS visitors,
    '' AS hashes
FROM
(
    SELECT
        roundDown(toInt64(toUnixTimestamp(hour)) * 1000, {edges:Array(Int64)}) AS edge,
        sum(screenViews) AS screenViews,
        sumMap(revenue) AS revenue,
        sum(begun) AS sessions,
        sum(bounced) AS bounces,
        sum(lastedMs) AS durationMs,
        uniqExactArrayState(visitors) AS visitors
    FROM hourly_totals
    WHERE projectId = {site:String} AND $ROLLUP_HOURS$
    GROUP BY edge
)
GROUP BY GROUPING SETS ((), (edge))
