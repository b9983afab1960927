-- The sessions that began in a span of time, by a dimension: `name` and its parent `prefix`. Every figure except
-- visitors is a sum over `sign`. A session's visitor may become known later, so a visitor counts if his states add up
-- to at least one session. Visitors are compared by 64-bit hashes; 0 means no visitor.
WITH found AS $SESSIONS[
    SELECT
        sign, screenViews, startedAt, endedAt, revenue[{currency:String}] AS amount, $COLUMNS$,
        $WHOLE_VISITOR$ AS visitor
    WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
]$
SELECT
    prefix,
    name,
    sum(begun) AS sessions,
    sum(viewed) AS pageviews,
    countIf(visitor != 0 AND begun > 0) AS visitors,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs,
    toString(sum(earned)) AS revenue
FROM
(
    SELECT
        prefix,
        name,
        visitor,
        sum(sign * screenViews) AS viewed,
        sum(sign * toInt128(amount)) AS earned,
        $SESSION_SUMS$
    FROM found
    GROUP BY prefix, name, visitor
)
GROUP BY prefix, name
HAVING sessions > 0
ORDER BY sessions DESC, name, prefix
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
