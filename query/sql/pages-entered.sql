-- The sessions that began in row hours, by their entry page.
SELECT
    origin,
    path,
    sum(begun) AS entries,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs
FROM $PAGE_SESSIONS$
GROUP BY origin, path
HAVING entries != 0 OR bounces != 0 OR durationMs != 0
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
