-- What the sums of days and hours say of the pages whose paths are named, or of every page, to be cached: with who saw them,
-- as long as those are few. `reaching` are sessions that reach beyond an hour or a day. See rollups/kept.ts.
SELECT
    * EXCEPT (cachedSessions, cachedVisitors, allSessions, allVisitors),
    $HASHES(cachedSessions)$ AS sessionHashes,
    $HASHES(cachedVisitors)$ AS visitorHashes
FROM
(
    SELECT
        *,
        length(allSessions) AS reaching,
        length(allVisitors) AS visitors,
        sum(reaching + visitors) OVER () <= {hashesMax:UInt64} AS isCached,
        if(isCached, allSessions, []) AS cachedSessions,
        if(isCached, allVisitors, []) AS cachedVisitors
    FROM
    (
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
            groupUniqArrayArray($CACHED_HASHES_MAX$)(sessionHashes) AS allSessions,
            groupUniqArrayArray($CACHED_HASHES_MAX$)(visitorHashes) AS allVisitors
        FROM $PAGE_ROLLUPS$
        GROUP BY origin, path
    )
)
