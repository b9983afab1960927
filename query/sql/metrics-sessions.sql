-- The sessions that began in two spans of time, by bucket: their number, bounces and total duration. Every figure is a sum
-- over `sign`, so the rows that the store merges away add up to 0.
WITH
-- The newest states of the hot sessions replace everything in the store about these sessions; see seam.ts.
hot AS $HOT_STATES$,
found AS
(
    SELECT sign, screenViews, startedAt, endedAt
    FROM sessions
    WHERE projectId = {site:String}
        AND (startedAt >= fromUnixTimestamp64Milli({from:Int64}) AND startedAt < fromUnixTimestamp64Milli({to:Int64})
            OR startedAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND startedAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND ($SESSION_FILTER$)
        AND id NOT IN (SELECT id FROM hot)
    UNION ALL
    SELECT sign, screenViews, startedAt, endedAt
    FROM hot
    WHERE (startedAt >= fromUnixTimestamp64Milli({from:Int64}) AND startedAt < fromUnixTimestamp64Milli({to:Int64})
            OR startedAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND startedAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND ($SESSION_FILTER$)
)
SELECT
    roundDown(toUnixTimestamp64Milli(startedAt), {edges:Array(Int64)}) AS edge,
    sum(sign) AS sessions,
    sum(sign * (screenViews <= 1)) AS bounces,
    sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt))) AS durationMs
FROM found
GROUP BY edge
