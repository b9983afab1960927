-- As pages.sql with filters on sessions, and without titles: page-titles.sql has those, whatever the filters. A session that
-- passes brings its visitor along, so that of the events only the columns of pages are read.
$PASSING_VIEWS$,
ranked AS
(
    SELECT
        origin,
        path,
        uniqExactIf(session, isScreenView AND session != 0) AS sessions,
        countIf(isScreenView) AS pageviews,
        uniqExactIf(visitor, isScreenView AND visitor != 0) AS visitors,
        toString(sumIf(revenue, currency = {currency:String})) AS revenue
    FROM views
    GROUP BY origin, path
    HAVING pageviews > 0
    ORDER BY sessions DESC, path, origin
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
),
found AS
(
    SELECT sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
    FROM sessions
    WHERE projectId = {site:String}
        AND startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
        $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
    $IF_HOT$
    UNION ALL
    SELECT sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
    FROM hot
    WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
    $END_HOT$
)
SELECT
    ranked.origin AS origin, ranked.path AS path,
    ranked.sessions AS sessions, ranked.pageviews AS pageviews, ranked.visitors AS visitors, ranked.revenue AS revenue,
    entered.entries AS entries, entered.bounces AS bounces, entered.durationMs AS durationMs
FROM ranked
LEFT JOIN
(
    SELECT
        entryOrigin AS origin,
        entryPath AS path,
        sum(sign) AS entries,
        sum(sign * (screenViews <= 1)) AS bounces,
        sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt))) AS durationMs
    FROM found
    GROUP BY origin, path
) AS entered USING (origin, path)
ORDER BY sessions DESC, path, origin
