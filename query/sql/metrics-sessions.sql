-- The sessions that began in two spans of time, by bucket: number, bounces and total duration. Every figure is a sum
-- over `sign`, so rows that cancel each other add up to 0.
WITH found AS $SESSIONS[
    SELECT sign, screenViews, startedAt, endedAt
    WHERE (startedAt >= fromUnixTimestamp64Milli({from:Int64}) AND startedAt < fromUnixTimestamp64Milli({to:Int64})
            OR startedAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND startedAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND ($SESSION_FILTER$)
]$
SELECT
    roundDown(toUnixTimestamp64Milli(startedAt), {edges:Array(Int64)}) AS edge,
    $SESSION_FIGURES$
FROM found
GROUP BY edge
