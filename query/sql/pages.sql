-- The pages that were seen in a span of time: screen views, sessions and visitors of each, and what all events on it
-- brought in. Bounces and durations are those of the sessions that began on the page, summed over `sign` as in
-- breakdown.sql; the page of answers is cut before they are sought.
WITH happened AS
(
    SELECT
        origin, path, title, id, createdAt, sessionId, profileId, deviceId,
        name = {screenView:String} AS isScreenView,
        if(currency = {currency:String}, revenue, 0) AS amount
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND (name = {screenView:String} OR revenue != 0)
    UNION ALL
    SELECT
        origin, path, title, id, createdAt, sessionId, profileId, deviceId,
        name = {screenView:String} AS isScreenView,
        if(currency = {currency:String}, revenue, 0) AS amount
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND (name = {screenView:String} OR revenue != 0)
),
ranked AS
(
    SELECT
        origin,
        path,
        argMaxIf(title, (createdAt, id), isScreenView AND title != '') AS lastTitle,
        uniqExactIf(sessionId, isScreenView AND sessionId != toFixedString('', 16)) AS sessions,
        countIf(isScreenView) AS pageviews,
        uniqExactIf(visitor, isScreenView AND visitor != '') AS visitors,
        toString(sum(amount)) AS revenue
    FROM
    (
        SELECT *, if(profileId != '', profileId, deviceId) AS visitor
        FROM happened
    )
    GROUP BY origin, path
    HAVING pageviews > 0
    ORDER BY sessions DESC, path, origin
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
),
found AS
(
    SELECT
        0 AS hotFlush, partition, projectId = '' AS isMarker, flushNumber,
        sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
    FROM sessions
    WHERE projectId = ''
        OR projectId = {site:String}
            AND startedAt >= fromUnixTimestamp64Milli({from:Int64})
            AND startedAt < fromUnixTimestamp64Milli({to:Int64})
    UNION ALL
    SELECT
        flushNumber AS hotFlush, partition, 0 AS isMarker, flushNumber,
        sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
    FROM $HOT_SESSIONS$
    WHERE projectId = {site:String}
        AND startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
),
sums AS
(
    SELECT
        partition,
        hotFlush,
        entryOrigin,
        entryPath,
        maxIf(flushNumber, isMarker AND sign > 0) AS marker,
        sumIf(sign, NOT isMarker) AS begun,
        sumIf(sign, NOT isMarker AND screenViews <= 1) AS bounced,
        sumIf(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt)), NOT isMarker) AS lastedMs
    FROM found
    GROUP BY partition, hotFlush, entryOrigin, entryPath
)
SELECT
    ranked.origin AS origin, ranked.path AS path, ranked.lastTitle AS title,
    ranked.sessions AS sessions, ranked.pageviews AS pageviews, ranked.visitors AS visitors, ranked.revenue AS revenue,
    entered.entries AS entries, entered.bounces AS bounces, entered.durationMs AS durationMs
FROM ranked
LEFT JOIN
(
    SELECT
        entryOrigin AS origin,
        entryPath AS path,
        sum(begun) AS entries,
        sum(bounced) AS bounces,
        sum(lastedMs) AS durationMs
    FROM
    (
        SELECT *, max(marker) OVER (PARTITION BY partition) AS inStore
        FROM sums
    )
    WHERE hotFlush = 0 OR hotFlush > inStore
    GROUP BY origin, path
) AS entered USING (origin, path)
ORDER BY sessions DESC, path, origin
