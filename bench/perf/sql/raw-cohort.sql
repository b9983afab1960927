-- Visitors by their first of twelve weeks, and the number of them in each week, only from events, by the store's own
-- function. `edges` are the starts of weeks.
SELECT first, sumForEach(came) AS visitors
FROM
(
    SELECT
        min(week) AS first,
        retention(1, week = 1, week = 2, week = 3, week = 4, week = 5, week = 6, week = 7, week = 8, week = 9, week = 10,
            week = 11, week = 12) AS came
    FROM
    (
        SELECT
            if(profileId != '', profileId, deviceId) AS visitor,
            indexOf({edges:Array(Int64)}, roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)})) AS week
        FROM events
        WHERE projectId = {site:String}
            AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
            AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            AND name NOT IN {synthetic:Array(String)}
    )
    WHERE visitor != ''
    GROUP BY visitor
)
GROUP BY first
ORDER BY first
