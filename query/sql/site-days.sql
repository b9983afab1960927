-- A site's events on each rolled up day, to estimate what a statement will read. Approximate, because a day may be
-- rolled up again. A site without rolled up days, such as on its first day, has its events counted.
SELECT toUnixTimestamp(day) AS day, max(counted) AS events
FROM
(
    SELECT day, block, sum(events) AS counted
    FROM daily_names
    WHERE projectId = {site:String}
    GROUP BY day, block
)
GROUP BY day
UNION ALL
SELECT toUnixTimestamp(toStartOfDay(createdAt)) AS day, count() AS events
FROM events
WHERE projectId = {site:String} AND (SELECT count() FROM daily_names WHERE projectId = {site:String}) = 0
GROUP BY day
