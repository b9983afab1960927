-- The sessions that began in two spans of time, by bucket: number, bounces and total duration. Every figure is a sum
-- over `sign`, so rows that cancel each other add up to 0.
WITH
-- The newest states of the hot sessions replace everything in the store about these sessions; see seam.ts.
$IF_HOT$ hot AS $HOT_STATES$, $END_HOT$
found AS
(
    SELECT sign, screenViews, startedAt, endedAt
    FROM sessions
    WHERE projectId = {site:String}
        AND (startedAt >= fromUnixTimestamp64Milli({from:Int64}) AND startedAt < fromUnixTimestamp64Milli({to:Int64})
            OR startedAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND startedAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND ($SESSION_FILTER$)
        $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
    $IF_HOT$
    UNION ALL
    SELECT sign, screenViews, startedAt, endedAt
    FROM hot
    WHERE (startedAt >= fromUnixTimestamp64Milli({from:Int64}) AND startedAt < fromUnixTimestamp64Milli({to:Int64})
            OR startedAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND startedAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND ($SESSION_FILTER$)
    $END_HOT$
)
SELECT
    roundDown(toUnixTimestamp64Milli(startedAt), {edges:Array(Int64)}) AS edge,
    sum(sign) AS sessions,
    sum(sign * (screenViews <= 1)) AS bounces,
    sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt))) AS durationMs
FROM found
GROUP BY edge
