-- The pages with most sessions by their sums of hours and days, where who came in several of them is counted in each:
-- `bound` is what a page's sessions in them do not exceed.
SELECT origin, path, sum(counted) AS bound
FROM
(
    SELECT origin, path, screenViews AS viewed, sessionsWithin + sessions.size0 AS counted
    FROM daily_pages
    WHERE projectId = {site:String}
        AND day >= toDateTime({firstDay:UInt32}, 'UTC') AND day <= toDateTime({lastDay:UInt32}, 'UTC')
        AND toUInt128(block) * 1048576 + intDiv(toUnixTimestamp(day), 3600) IN {dayKeys:Array(UInt128)}
    UNION ALL
    SELECT origin, path, screenViews AS viewed, sessionsWithin + sessions.size0 AS counted
    FROM hourly_pages
    WHERE projectId = {site:String}
        AND hour >= toDateTime({firstHour:UInt32}, 'UTC') AND hour <= toDateTime({lastHour:UInt32}, 'UTC')
        AND toUInt128(block) * 1048576 + intDiv(toUnixTimestamp(hour), 3600) IN {hourKeys:Array(UInt128)}
)
GROUP BY origin, path
HAVING sum(viewed) > 0
ORDER BY bound DESC, path, origin
LIMIT {ranked:UInt64}
