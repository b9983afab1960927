-- As breakdown.sql without filters: selected days from their rollups, all other hours from rows.
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
        $COLUMNS$, begun, viewed, bounced, lastedMs, revenue[{currency:String}] AS earned, visitors AS visitorHashes
    FROM $ROLLUP_TABLE$
    WHERE projectId = {site:String}
        AND $ROLLUP_DAYS$
    UNION ALL
    SELECT
        prefix, name,
        sum(ofVisitor.1) AS begun, sum(ofVisitor.2) AS viewed, sum(ofVisitor.3) AS bounced, sum(ofVisitor.4) AS lastedMs,
        sum(ofVisitor.5) AS earned,
        groupArrayIf(visitor, visitor != 0 AND ofVisitor.1 > 0) AS visitorHashes
    FROM
    (
        SELECT
            prefix,
            name,
            visitor,
            (
                sum(sign),
                sum(sign * screenViews),
                sum(sign * (screenViews <= 1)),
                sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt))),
                sum(sign * amount)
            ) AS ofVisitor
        FROM found
        GROUP BY prefix, name, visitor
    )
    GROUP BY prefix, name
)
GROUP BY prefix, name
HAVING sessions > 0
ORDER BY sessions DESC, name, prefix
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
