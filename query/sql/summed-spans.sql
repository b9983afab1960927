-- Which hours and days of a span of time are summed up, and by which block. One counts whose last sums hold every flush
-- that ever changed it. An empty `flushed` is a block that is still to come. See processor/rollups. All that is known of a
-- span is brought together in one pass: what two scans of a table find may be apart by a block, and a mark would be held
-- against the wrong one.
WITH found AS
(
    SELECT 3600 AS seconds, hour AS start, block, flushed, CAST(map(), 'Map(UInt16, UInt32)') AS marks
    FROM rollup_blocks
    WHERE projectId IN ('', {site:String})
        AND hour >= toDateTime({first:UInt32}, 'UTC') AND hour <= toDateTime({last:UInt32}, 'UTC')
    UNION ALL
    SELECT 86400 AS seconds, day AS start, block, flushed, CAST(map(), 'Map(UInt16, UInt32)') AS marks
    FROM rollup_days
    WHERE projectId IN ('', {site:String})
        AND day >= toDateTime({first:UInt32}, 'UTC') AND day <= toDateTime({last:UInt32}, 'UTC')
    UNION ALL
    SELECT
        seconds,
        toDateTime(intDiv(toUnixTimestamp(hour), seconds) * seconds, 'UTC') AS start,
        0 AS block,
        [] AS flushed,
        map(partition, flushNumber) AS marks
    FROM late_hours
    ARRAY JOIN [3600, 86400] AS seconds
    WHERE projectId = {site:String}
        AND hour >= toDateTime({first:UInt32}, 'UTC') AND hour <= toDateTime({last:UInt32}, 'UTC')
)
SELECT
    seconds,
    groupArray(toUnixTimestamp(start)) AS starts,
    groupArray(lastBlock) AS blocks
FROM
(
    SELECT
        seconds,
        start,
        max(block) AS lastBlock,
        argMax(flushed, block) AS lastFlushed,
        maxMap(marks) AS lastMarks
    FROM found
    GROUP BY seconds, start
)
WHERE notEmpty(lastFlushed)
    AND NOT arrayExists(
        (partition, flushNumber) -> flushNumber > lastFlushed[partition + 1],
        mapKeys(lastMarks), mapValues(lastMarks))
GROUP BY seconds
