-- The sessions that began in hours that are read from rows, by the page on which they did.
SELECT
    origin,
    path,
    sum(begun) AS entries,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs
FROM $PAGE_SESSIONS$
GROUP BY origin, path
HAVING entries != 0 OR bounces != 0 OR durationMs != 0
-- The hours that are read from rows are few, and the index leads to them.
SETTINGS use_index_for_in_with_subqueries = 1
