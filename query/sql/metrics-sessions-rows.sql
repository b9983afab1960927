-- Like metrics-sessions.sql, without filters, for sessions that began in row hours.
SELECT
    edge,
    sum(begun) AS sessions,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs
FROM $ROW_SESSIONS$
GROUP BY edge
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
