-- The sessions that began in a span of time, by the page on which they began or ended, and what the page was called last.
-- Sessions are counted as in breakdown.sql. The page of answers is cut before titles are sought.
WITH found AS
(
    SELECT
        0 AS hotFlush, partition, projectId = '' AS isMarker, flushNumber,
        sign, screenViews, startedAt, endedAt, profileId, deviceId, revenue[{currency:String}] AS amount, $COLUMNS$
    FROM sessions
    WHERE projectId = ''
        OR projectId = {site:String}
            AND startedAt >= fromUnixTimestamp64Milli({from:Int64})
            AND startedAt < fromUnixTimestamp64Milli({to:Int64})
    UNION ALL
    SELECT
        flushNumber AS hotFlush, partition, 0 AS isMarker, flushNumber,
        sign, screenViews, startedAt, endedAt, profileId, deviceId, revenue[{currency:String}] AS amount, $COLUMNS$
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
        origin,
        path,
        if(profileId != '', profileId, deviceId) AS visitor,
        maxIf(flushNumber, isMarker AND sign > 0) AS marker,
        sumIf(sign, NOT isMarker) AS begun,
        sumIf(sign, NOT isMarker AND screenViews <= 1) AS bounced,
        sumIf(sign * screenViews, NOT isMarker) AS viewed,
        sumIf(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt)), NOT isMarker) AS lastedMs,
        sumIf(sign * amount, NOT isMarker) AS earned
    FROM found
    GROUP BY partition, hotFlush, origin, path, visitor
),
ranked AS
(
    SELECT
        origin,
        path,
        sum(begunByVisitor) AS sessions,
        sum(viewedByVisitor) AS pageviews,
        countIf(visitor != '' AND begunByVisitor > 0) AS visitors,
        sum(bouncedByVisitor) AS bounces,
        sum(lastedMsByVisitor) AS durationMs,
        toString(sum(earnedByVisitor)) AS revenue
    FROM
    (
        SELECT
            origin,
            path,
            visitor,
            sum(begun) AS begunByVisitor,
            sum(viewed) AS viewedByVisitor,
            sum(bounced) AS bouncedByVisitor,
            sum(lastedMs) AS lastedMsByVisitor,
            sum(earned) AS earnedByVisitor
        FROM
        (
            SELECT *, max(marker) OVER (PARTITION BY partition) AS inStore
            FROM sums
        )
        WHERE hotFlush = 0 OR hotFlush > inStore
        GROUP BY origin, path, visitor
    )
    GROUP BY origin, path
    HAVING sessions > 0
    ORDER BY sessions DESC, path, origin
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
),
-- Titles of whatever was seen in the span: events up to the flush that the owner knew to be complete, and the hot ones.
seen AS
(
    SELECT origin, path, title, createdAt, id
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND name = {screenView:String}
        AND title != ''
    UNION ALL
    SELECT origin, path, title, createdAt, id
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND name = {screenView:String}
        AND title != ''
)
SELECT ranked.*, titled.lastTitle AS title
FROM ranked
LEFT JOIN
(
    SELECT origin, path, argMax(title, (createdAt, id)) AS lastTitle
    FROM seen
    GROUP BY origin, path
) AS titled USING (origin, path)
ORDER BY sessions DESC, path, origin
