-- As pages-finalized.sql where the visitors and sessions are too many to be cached: their exact numbers alone.
SELECT
    origin,
    path,
    maxIf(at, lastTitle != '') AS titleAt,
    argMaxIf(lastTitle, at, lastTitle != '') AS title,
    sum(viewed) AS pageviews,
    toString(sum(earned)) AS revenue,
    sum(begun) AS entries,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs,
    sum(within) AS sessionsWithin,
    uniqExactArray(sessionHashes) AS reaching,
    uniqExactArray(visitorHashes) AS visitors
FROM $PAGE_ROLLUPS$
GROUP BY origin, path
