-- The rollups of the pages with the named paths, or of every page, for the cache. With their visitors and sessions,
-- unless they are too many. `reaching` counts sessions that exceed an hour or day. See rollups/rollup-cache.ts.
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
            $PAGE_SUMS$,
            groupUniqArrayArray($CACHED_HASHES_MAX$)(sessionHashes) AS allSessions,
            groupUniqArrayArray($CACHED_HASHES_MAX$)(visitorHashes) AS allVisitors
        FROM $PAGE_ROLLUPS$
        GROUP BY origin, path
    )
)
