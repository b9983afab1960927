-- Which hours of a span are summed up, and by which block. An hour counts whose last sums hold every flush that ever
-- changed it, and that no unflushed row changes: what is hot, and what landed since, is read from rows. See
-- processor/rollups.
WITH blocks AS
(
    SELECT hour, max(block) AS lastBlock, argMax(flushed, block) AS lastFlushed
    FROM rollup_blocks
    WHERE projectId IN ('', {site:String})
        AND hour >= toDateTime({firstHour:UInt32}, 'UTC')
        AND hour <= toDateTime({lastHour:UInt32}, 'UTC')
    GROUP BY hour
)
SELECT
    groupArray(toUnixTimestamp(hour)) AS hours,
    groupArray(lastBlock) AS blocks
FROM
(
    SELECT hour, lastBlock
    FROM blocks
    WHERE hour NOT IN
        (
            SELECT toStartOfHour(createdAt) FROM $HOT_EVENTS$ WHERE projectId = {site:String}
            UNION DISTINCT
            SELECT toStartOfHour(startedAt) FROM $HOT_SESSIONS$ WHERE projectId = {site:String}
        )
        AND hour NOT IN
        (
            SELECT marks.hour
            FROM
            (
                SELECT hour, partition, max(flushNumber) AS flushNumber
                FROM late_hours
                WHERE projectId = {site:String}
                    AND hour >= toDateTime({firstHour:UInt32}, 'UTC')
                    AND hour <= toDateTime({lastHour:UInt32}, 'UTC')
                GROUP BY hour, partition
            ) AS marks
            INNER JOIN blocks ON marks.hour = blocks.hour
            WHERE marks.flushNumber > blocks.lastFlushed[marks.partition + 1]
        )
    ORDER BY hour
)
