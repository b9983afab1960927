-- The levels that sessions reach in a funnel of four steps, only from events, by the store's own function.
SELECT level, count() AS sessions
FROM
(
    SELECT
        sessionId,
        windowFunnel({windowMs:UInt64})(toUInt64(toUnixTimestamp64Milli(createdAt)),
            name = {steps:Array(String)}[1], name = {steps:Array(String)}[2],
            name = {steps:Array(String)}[3], name = {steps:Array(String)}[4]) AS level
    FROM events
    WHERE projectId = {site:String}
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND name IN {steps:Array(String)}
        AND sessionId != toFixedString('', 16)
    GROUP BY sessionId
)
WHERE level > 0
GROUP BY level
ORDER BY level
