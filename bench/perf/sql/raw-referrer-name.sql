-- The answer of `referrer_name`, only from events: rebuilt sessions, each with the source of its entry event.
SELECT
    name,
    count() AS sessions,
    sum(views) AS pageviews,
    uniqExactIf(visitor, visitor != '') AS visitors,
    count() AS rated,
    countIf(views <= 1) AS bounces,
    sum(lastedMs) AS durationMs,
    sum(earned) AS revenue
FROM
(
    SELECT
        argMin(referrerName, (events.name != {screenView:String}, createdAt)) AS name,
        countIf(events.name = {screenView:String}) AS views,
        max(if(profileId != '', profileId, deviceId)) AS visitor,
        toUnixTimestamp64Milli(max(createdAt)) - toUnixTimestamp64Milli(min(createdAt)) AS lastedMs,
        sumIf(revenue, currency = {currency:String}) AS earned
    FROM events
    WHERE projectId = {site:String}
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
    GROUP BY sessionId
    HAVING countIf(events.name = {sessionStart:String}) > 0
)
GROUP BY name
ORDER BY sessions DESC, name
LIMIT {limit:UInt32}
