-- The sessions that began in a span of time, by a dimension: `name`, and the `prefix` that it belongs to. Every figure is
-- a sum over `sign`, per partition and hot flush first; only then is known which hot flushes the scan has already
-- brought. See seam.ts. Visitors cannot be counted so, as a session's visitor may become known later: a visitor counts
-- where sessions of theirs are left over once all states are summed up.
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
        prefix,
        name,
        if(profileId != '', profileId, deviceId) AS visitor,
        maxIf(flushNumber, isMarker AND sign > 0) AS marker,
        sumIf(sign, NOT isMarker) AS begun,
        sumIf(sign, NOT isMarker AND screenViews <= 1) AS bounced,
        sumIf(sign * screenViews, NOT isMarker) AS viewed,
        sumIf(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt)), NOT isMarker) AS lastedMs,
        sumIf(sign * amount, NOT isMarker) AS earned
    FROM found
    GROUP BY partition, hotFlush, prefix, name, visitor
)
SELECT
    prefix,
    name,
    sum(begunByVisitor) AS sessions,
    sum(viewedByVisitor) AS pageviews,
    countIf(visitor != '' AND begunByVisitor > 0) AS visitors,
    sum(bouncedByVisitor) AS bounces,
    sum(lastedMsByVisitor) AS durationMs,
    toString(sum(earnedByVisitor)) AS revenue
FROM
(
    SELECT
        prefix,
        name,
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
    GROUP BY prefix, name, visitor
)
GROUP BY prefix, name
HAVING sessions > 0
ORDER BY sessions DESC, name, prefix
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
