-- The finalized hours and days of a span of time: the blocks that rolled them up, with the flushes that these include.
-- Block 0 has the hours that a flush changed late, by partition. Length 0 has the first hour ever rolled up, unless
-- rows may be too old for rollups (processor/rollups/pending.ts). processor/rollups explains the blocks;
-- rollups/rollup-spans.ts reads them.
SELECT seconds, block, any(flushed) AS flushes, 0 AS partition, groupArray(toUnixTimestamp(start)) AS starts
FROM
(
    SELECT 3600 AS seconds, projectId, block, flushed, hour AS start
    FROM rollup_blocks
    WHERE projectId IN ('', {site:String})
        AND hour >= toDateTime({first:UInt32}, 'UTC') AND hour <= toDateTime({last:UInt32}, 'UTC')
        -- Rows of a single site are hours with late changes. They show which hours are not empty.
        AND (projectId != '' OR hour >= toDateTime({hoursFrom:UInt32}, 'UTC')
            -- Hours before the first whole day in UTC.
            OR hour < toDateTime({first:UInt32}, 'UTC') + INTERVAL 1 DAY)
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
UNION ALL
SELECT 0 AS seconds, 0 AS block, emptyArrayUInt32() AS flushes, 0 AS partition, [toUnixTimestamp(min(hour))] AS starts
FROM rollup_blocks
WHERE projectId = ''
HAVING min(hour) > now('UTC') - INTERVAL 19 YEAR
