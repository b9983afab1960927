-- As pages-finalized.sql where the visitors and sessions are too many to be cached: their exact numbers alone.
SELECT
    origin,
    path,
    $PAGE_SUMS$,
    uniqExactArray(sessionHashes) AS reaching,
    uniqExactArray(visitorHashes) AS visitors
FROM $PAGE_ROLLUPS$
GROUP BY origin, path
