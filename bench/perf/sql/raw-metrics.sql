-- The answer of `metrics`, only from events: two spans and the buckets of the current one, with sessions rebuilt from
-- their events. A session counts at its `session_start`, so one that began before the spans is left out.
WITH
found AS
(
    SELECT
        sessionId, createdAt, name, revenue, currency,
        if(profileId != '', profileId, deviceId) AS visitor,
        createdAt >= fromUnixTimestamp64Milli({from:Int64}) AS isCurrent,
        roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge
    FROM events
    WHERE projectId = {site:String}
        AND createdAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
),
rebuilt AS
(
    SELECT
        min(createdAt) AS startedAt,
        countIf(name = {screenView:String}) AS views,
        toUnixTimestamp64Milli(max(createdAt)) - toUnixTimestamp64Milli(startedAt) AS durationMs
    FROM found
    GROUP BY sessionId
    HAVING countIf(name = {sessionStart:String}) > 0
)
SELECT
    grouping(edge) AS isTotal, isCurrent, edge,
    countIf(name = {screenView:String}) AS screenViews,
    uniqExactIf(visitor, visitor != '' AND name NOT IN {synthetic:Array(String)}) AS visitors,
    sumIf(revenue, currency = {currency:String}) AS revenue,
    0 AS sessions, 0 AS bounces, 0 AS durationMs
FROM found
GROUP BY GROUPING SETS ((isCurrent), (isCurrent, edge))
UNION ALL
SELECT
    0 AS isTotal, startedAt >= fromUnixTimestamp64Milli({from:Int64}) AS isCurrent,
    roundDown(toUnixTimestamp64Milli(startedAt), {edges:Array(Int64)}) AS edge,
    0, 0, 0,
    count(), countIf(views <= 1), sum(durationMs)
FROM rebuilt
GROUP BY isCurrent, edge
