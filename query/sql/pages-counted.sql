-- Like pages-finalized.sql for too many visitors and sessions to cache: only their exact numbers.
SELECT
    origin,
    path,
    $PAGE_SUMS$,
    uniqExactArray(sessionHashes) AS reaching,
    uniqExactArray(visitorHashes) AS visitors
FROM $PAGE_ROLLUPS$
GROUP BY origin, path
