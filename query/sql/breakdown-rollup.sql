-- Like breakdown.sql, without filters: selected days from rollups, all other hours from rows.
$RANKED_SESSIONS$
SELECT
    prefix,
    name,
    sum(begun) AS sessions,
    sum(viewed) AS pageviews,
    uniqExactArray(visitorHashes) AS visitors,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs,
    toString(sum(earned)) AS revenue
FROM
(
    SELECT
        $COLUMNS$, begun, viewed, bounced, lastedMs, toInt128(revenue[{currency:String}]) AS earned, visitors AS visitorHashes
    FROM $ROLLUP_TABLE$
    WHERE projectId = {site:String}
        AND $ROLLUP_DAYS$
    UNION ALL
    SELECT
        prefix, name, sessions AS begun, pageviews AS viewed, bounces AS bounced, durationMs AS lastedMs, amount AS earned,
        visitorHashes
    FROM $RANKED_ROWS$
)
GROUP BY prefix, name
HAVING sessions > 0
ORDER BY sessions DESC, name, prefix
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
