-- Like pages.sql, without filters: selected days and hours from rollups, all other hours from rows. For the pages with
-- the named paths, or for every page. A page's visitors are the union over its hours and days, and so are the sessions
-- that exceed one; all other sessions are a plain count (processor/rollups). The last row has the highest number of
-- sessions of an unnamed page in the rows.
WITH withNames AS
(
    SELECT *
    FROM $PAGE_ROLLUPS$
    UNION ALL
    SELECT
        toUnixTimestamp(maxIf(createdAt, isScreenView AND title != '')) AS at,
        origin,
        path,
        argMaxIf(title, (createdAt, id), isScreenView AND title != '') AS lastTitle,
        countIf(isScreenView) AS viewed,
        sum(toInt128(amount)) AS earned,
        0 AS begun, 0 AS bounced, 0 AS lastedMs, 0 AS within,
        groupUniqArrayIf(session, isScreenView AND session != 0) AS sessionHashes,
        groupUniqArrayIf(visitor, isScreenView AND visitor != 0) AS visitorHashes
    FROM $PAGE_EVENTS$
    GROUP BY origin, path
)
SELECT
    isNamed,
    if(isNamed, origin, '') AS origin,
    if(isNamed, path, '') AS path,
    argMaxIf(lastTitle, at, isNamed AND lastTitle != '') AS title,
    sumIf(within, isNamed) + uniqExactArrayIf(sessionHashes, isNamed) AS sessions,
    maxIf(length(sessionHashes), NOT isNamed) AS sessionsMax,
    sum(viewed) AS pageviews,
    uniqExactArrayIf(visitorHashes, isNamed) AS visitors,
    toString(sum(earned)) AS revenue,
    sum(begun) AS entries,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs
FROM
(
    SELECT *, $IS_NAMED$ AS isNamed
    FROM withNames
)
GROUP BY isNamed, origin, path
HAVING pageviews > 0 OR NOT isNamed
ORDER BY isNamed DESC, sessions DESC, path, origin
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
