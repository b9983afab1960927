-- How many events a site has on each day that was rolled up, to know what a statement will read: about as many, because a day may be
-- rolled up again meanwhile. While none was, as on the first day of a site, its events themselves are counted.
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
