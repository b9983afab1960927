-- As metrics-sessions.sql without filters: of the sessions that began in hours that are read from rows; see seam.ts for markers.
WITH found AS
(
    SELECT
        0 AS hotFlush, partition, projectId = '' AS isMarker, flushNumber,
        sign, screenViews, startedAt, endedAt
    FROM sessions
    WHERE projectId = ''
        OR projectId = {site:String}
            AND toStartOfHour(startedAt) IN (SELECT toDateTime(arrayJoin({rowHours:Array(UInt32)}), 'UTC'))
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
        sumIf(sign, NOT isMarker) AS begun,
        sumIf(sign, NOT isMarker AND screenViews <= 1) AS bounced,
        sumIf(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt)), NOT isMarker) AS lastedMs
    FROM found
    GROUP BY partition, hotFlush, edge
)
SELECT
    edge,
    sum(begun) AS sessions,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs
FROM
(
    SELECT *, max(marker) OVER (PARTITION BY partition) AS inStore
    FROM sums
)
WHERE hotFlush = 0 OR hotFlush > inStore
GROUP BY edge
-- The hours that are read from rows are few, and the index leads to them.
SETTINGS use_index_for_in_with_subqueries = 1
