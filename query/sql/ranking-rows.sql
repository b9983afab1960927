-- The sessions that began in the row hours of a span, by two columns, with the visitors of each row.
$RANKED_SESSIONS$
SELECT
    prefix,
    name,
    sum(begun) AS sessions,
    sum(viewed) AS pageviews,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs,
    toString(sum(earned)) AS revenue,
    groupArrayIf(visitor, visitor != 0 AND begun > 0) AS visitorHashes
FROM
(
    SELECT
        prefix,
        name,
        visitor,
        sum(sign) AS begun,
        sum(sign * (screenViews <= 1)) AS bounced,
        sum(sign * screenViews) AS viewed,
        sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt))) AS lastedMs,
        sum(sign * amount) AS earned
    FROM found
    GROUP BY prefix, name, visitor
)
GROUP BY prefix, name
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
