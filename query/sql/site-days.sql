-- How many events a site has on each day that was rolled up, to know what a statement will read: about as many, because a day may be
-- rolled up again meanwhile.
SELECT toUnixTimestamp(day) AS day, max(counted) AS events
FROM
(
    SELECT day, block, sum(events) AS counted
    FROM daily_names
    WHERE projectId = {site:String}
    GROUP BY day, block
)
GROUP BY day
