-- The views of the named pages, or of every page, in the row hours, with their visitors and sessions. The last row
-- has the highest number of sessions of an unnamed page.
SELECT
    isNamed,
    if(isNamed, origin, '') AS origin,
    if(isNamed, path, '') AS path,
    anyIf(titleAt, isNamed) AS titleAt,
    anyIf(lastTitle, isNamed) AS title,
    sum(viewed) AS pageviews,
    toString(sum(earned)) AS revenue,
    max(length(bySession)) AS sessionsMax,
    anyIf(bySession, isNamed) AS sessionHashes,
    anyIf(byVisitor, isNamed) AS visitorHashes
FROM
(
    SELECT
        origin,
        path,
        $IS_NAMED$ AS isNamed,
        toUnixTimestamp(maxIf(createdAt, isScreenView AND title != '')) AS titleAt,
        argMaxIf(title, (createdAt, id), isScreenView AND title != '') AS lastTitle,
        countIf(isScreenView) AS viewed,
        sum(toInt128(amount)) AS earned,
        groupUniqArrayIf($ROW_HASHES_MAX$)(session, isScreenView AND session != 0) AS bySession,
        groupUniqArrayIf($ROW_HASHES_MAX$)(visitor, isScreenView AND visitor != 0) AS byVisitor
    FROM $PAGE_EVENTS$
    GROUP BY origin, path
)
GROUP BY isNamed, origin, path
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
