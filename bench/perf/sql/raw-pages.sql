-- The answer of `pages`, only from events: bounces and durations are of the sessions that entered on the page.
WITH
found AS
(
    SELECT
        id, sessionId, createdAt, name, origin, path, title, revenue, currency,
        if(profileId != '', profileId, deviceId) AS visitor
    FROM events
    WHERE projectId = {site:String}
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
),
seen AS
(
    SELECT
        origin,
        path,
        argMaxIf(title, (createdAt, id), name = {screenView:String}) AS title,
        uniqExactIf(sessionId, name = {screenView:String}) AS sessions,
        countIf(name = {screenView:String}) AS pageviews,
        uniqExactIf(visitor, name = {screenView:String}) AS visitors,
        sumIf(revenue, currency = {currency:String}) AS revenue
    FROM found
    GROUP BY origin, path
    HAVING pageviews > 0
),
entered AS
(
    SELECT
        entry.1 AS origin,
        entry.2 AS path,
        count() AS entries,
        countIf(views <= 1) AS bounces,
        sum(durationMs) AS durationMs
    FROM
    (
        SELECT
            argMin((origin, path), (name != {screenView:String}, createdAt)) AS entry,
            countIf(name = {screenView:String}) AS views,
            toUnixTimestamp64Milli(max(createdAt)) - toUnixTimestamp64Milli(min(createdAt)) AS durationMs
        FROM found
        GROUP BY sessionId
        HAVING countIf(name = {sessionStart:String}) > 0
    )
    GROUP BY origin, path
)
SELECT origin, path, title, sessions, pageviews, visitors, revenue, entries AS rated, bounces, durationMs
FROM seen
LEFT JOIN entered USING (origin, path)
ORDER BY sessions DESC, path, origin
LIMIT {limit:UInt32}
