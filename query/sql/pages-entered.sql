-- The sessions that began in hours that are read from rows, by the page on which they did; see seam.ts for markers.
WITH found AS
(
    SELECT
        0 AS hotFlush, partition, projectId = '' AS isMarker, flushNumber,
        sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
    FROM sessions
    WHERE projectId = ''
        OR projectId = {site:String}
            AND toStartOfHour(startedAt) IN (SELECT toDateTime(arrayJoin({rowHours:Array(UInt32)}), 'UTC'))
            AND startedAt >= fromUnixTimestamp64Milli({from:Int64})
            AND startedAt < fromUnixTimestamp64Milli({to:Int64})
            AND ({every:UInt8} OR entryPath IN {paths:Array(String)})
    UNION ALL
    SELECT
        flushNumber AS hotFlush, partition, 0 AS isMarker, flushNumber,
        sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
    FROM $HOT_SESSIONS$
    WHERE projectId = {site:String}
        AND startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ({every:UInt8} OR entryPath IN {paths:Array(String)})
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
HAVING entries != 0 OR bounces != 0 OR durationMs != 0
SETTINGS use_index_for_in_with_subqueries = 1
