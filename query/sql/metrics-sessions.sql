-- The sessions that began in two spans of time, by bucket: how many, how many bounced, how long they took together.
-- Every figure is a sum over `sign`, so rows that the store merged away were worth nothing. Sums are made per partition
-- and hot flush first; only then is known which hot flushes the scan has already brought. See seam.ts.
WITH found AS
(
    SELECT
        0 AS hotFlush, partition, projectId = '' AS isMarker, flushNumber,
        sign, screenViews, startedAt, endedAt
    FROM sessions
    WHERE projectId = ''
        OR projectId = {site:String}
            AND (startedAt >= fromUnixTimestamp64Milli({from:Int64}) AND startedAt < fromUnixTimestamp64Milli({to:Int64})
                OR startedAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                    AND startedAt < fromUnixTimestamp64Milli({previousTo:Int64}))
    UNION ALL
    SELECT
        flushNumber AS hotFlush, partition, 0 AS isMarker, flushNumber,
        sign, screenViews, startedAt, endedAt
    FROM $HOT_SESSIONS$
    WHERE projectId = {site:String}
        AND (startedAt >= fromUnixTimestamp64Milli({from:Int64}) AND startedAt < fromUnixTimestamp64Milli({to:Int64})
            OR startedAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND startedAt < fromUnixTimestamp64Milli({previousTo:Int64}))
),
sums AS
(
    SELECT
        partition,
        hotFlush,
        roundDown(toUnixTimestamp64Milli(startedAt), {edges:Array(Int64)}) AS edge,
        maxIf(flushNumber, isMarker AND sign > 0) AS marker,
        sumIf(sign, NOT isMarker) AS sessions,
        sumIf(sign, NOT isMarker AND screenViews <= 1) AS bounces,
        sumIf(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt)), NOT isMarker) AS durationMs
    FROM found
    GROUP BY partition, hotFlush, edge
)
SELECT
    edge,
    sum(sessions) AS sessions,
    sum(bounces) AS bounces,
    sum(durationMs) AS durationMs
FROM
(
    SELECT *, max(marker) OVER (PARTITION BY partition) AS inStore
    FROM sums
)
WHERE hotFlush = 0 OR hotFlush > inStore
GROUP BY edge
