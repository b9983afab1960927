-- What is announced of the hours and days of a span of time, and which of them were changed later: the blocks in which they
-- were summed up with the flushes that those hold, and marks, which have no block, by partition and flush. See processor/rollups
-- for what it means and summed-spans.ts for what follows.
SELECT seconds, block, any(flushed) AS flushes, 0 AS partition, groupArray(toUnixTimestamp(start)) AS starts
FROM
(
    SELECT 3600 AS seconds, projectId, block, flushed, hour AS start
    FROM rollup_blocks
    WHERE projectId IN ('', {site:String})
        AND hour >= toDateTime({first:UInt32}, 'UTC') AND hour <= toDateTime({last:UInt32}, 'UTC')
    UNION ALL
    SELECT 86400 AS seconds, projectId, block, flushed, day AS start
    FROM rollup_days
    WHERE projectId IN ('', {site:String})
        AND day >= toDateTime({first:UInt32}, 'UTC') AND day <= toDateTime({last:UInt32}, 'UTC')
)
GROUP BY seconds, projectId, block
UNION ALL
SELECT 3600 AS seconds, 0 AS block, [flushNumber] AS flushes, partition, groupArray(toUnixTimestamp(hour)) AS starts
FROM late_hours
WHERE projectId = {site:String}
    AND hour >= toDateTime({first:UInt32}, 'UTC') AND hour <= toDateTime({last:UInt32}, 'UTC')
GROUP BY partition, flushNumber
