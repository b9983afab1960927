-- As metrics-sessions.sql without filters: of the sessions that began in hours that are read from rows.
SELECT
    edge,
    sum(begun) AS sessions,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs
FROM $ROW_SESSIONS$
GROUP BY edge
-- The hours that are read from rows are few, and the index leads to them.
SETTINGS use_index_for_in_with_subqueries = 1
