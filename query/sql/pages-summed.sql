-- As pages.sql without filters: from the sums of those hours that have them, and from rows for the others. A page's
-- sessions and visitors are the union of its hours'. The sum of the hours' counts is more than that by those who came
-- again in another hour, and cheap: only pages that can be among the first by it are looked at in full. `leastBound` is
-- the smallest such sum among them, which no page left out exceeds.
WITH seen AS
(
    SELECT
        toUnixTimestamp(toStartOfHour(createdAt)) AS at,
        origin,
        path,
        argMaxIf(title, (createdAt, id), isScreenView AND title != '') AS lastTitle,
        countIf(isScreenView) AS viewed,
        sum(amount) AS earned,
        groupUniqArrayIf(sipHash64(sessionId), isScreenView AND sessionId != toFixedString('', 16)) AS sessionHashes,
        groupUniqArrayIf(sipHash64(visitor), isScreenView AND visitor != '') AS visitorHashes
    FROM
    (
        SELECT
            origin, path, title, id, createdAt, sessionId, name = {screenView:String} AS isScreenView,
            if(profileId != '', profileId, deviceId) AS visitor,
            if(currency = {currency:String}, revenue, 0) AS amount
        FROM events
        WHERE projectId = {site:String}
            AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
            AND toStartOfHour(createdAt) IN (SELECT toDateTime(arrayJoin({rowHours:Array(UInt32)}), 'UTC'))
            AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
            AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            AND (name = {screenView:String} OR revenue != 0)
        UNION ALL
        SELECT
            origin, path, title, id, createdAt, sessionId, name = {screenView:String} AS isScreenView,
            if(profileId != '', profileId, deviceId) AS visitor,
            if(currency = {currency:String}, revenue, 0) AS amount
        FROM $HOT_EVENTS$
        WHERE projectId = {site:String}
            AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
            AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            AND (name = {screenView:String} OR revenue != 0)
    )
    GROUP BY at, origin, path
),
first AS
(
    SELECT origin, path
    FROM
    (
        SELECT origin, path, screenViews AS viewed, sessions.size0 AS counted
        FROM hourly_pages
        WHERE projectId = {site:String}
            AND hour >= toDateTime({firstHour:UInt32}, 'UTC') AND hour <= toDateTime({lastHour:UInt32}, 'UTC')
            AND (toUnixTimestamp(hour), block) IN (SELECT arrayJoin(arrayZip({hours:Array(UInt32)}, {blocks:Array(UInt64)})))
        UNION ALL
        SELECT origin, path, viewed, length(sessionHashes) AS counted
        FROM seen
    )
    GROUP BY origin, path
    HAVING sum(viewed) > 0
    ORDER BY sum(counted) DESC, path, origin
    LIMIT {candidates:UInt64}
),
ranked AS
(
    SELECT
        origin,
        path,
        argMaxIf(lastTitle, at, lastTitle != '') AS title,
        uniqExactArray(sessionHashes) AS sessions,
        sum(viewed) AS pageviews,
        uniqExactArray(visitorHashes) AS visitors,
        toString(sum(earned)) AS revenue,
        sum(begun) AS summedEntries,
        sum(bounced) AS summedBounces,
        sum(lastedMs) AS summedMs,
        min(sum(length(sessionHashes))) OVER () AS leastBound,
        count() OVER () AS candidates
    FROM
    (
        SELECT
            toUnixTimestamp(hour) AS at, origin, path, title AS lastTitle, screenViews AS viewed,
            revenue[{currency:String}] AS earned, begun, bounced, lastedMs,
            sessions AS sessionHashes, visitors AS visitorHashes
        FROM hourly_pages
        WHERE projectId = {site:String}
            AND hour >= toDateTime({firstHour:UInt32}, 'UTC') AND hour <= toDateTime({lastHour:UInt32}, 'UTC')
            AND (toUnixTimestamp(hour), block) IN (SELECT arrayJoin(arrayZip({hours:Array(UInt32)}, {blocks:Array(UInt64)})))
            AND (origin, path) IN (SELECT origin, path FROM first)
        UNION ALL
        SELECT
            at, origin, path, lastTitle, viewed, earned, 0 AS begun, 0 AS bounced, 0 AS lastedMs,
            sessionHashes, visitorHashes
        FROM seen
        WHERE (origin, path) IN (SELECT origin, path FROM first)
    )
    GROUP BY origin, path
    ORDER BY sessions DESC, path, origin
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
),
found AS
(
    SELECT
        0 AS hotFlush, partition, projectId = '' AS isMarker, flushNumber,
        sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
    FROM sessions
    WHERE projectId = ''
        OR projectId = {site:String}
            AND toStartOfHour(startedAt) IN (SELECT toDateTime(arrayJoin({rowHours:Array(UInt32)}), 'UTC'))
            AND startedAt >= fromUnixTimestamp64Milli({from:Int64})
            AND startedAt < fromUnixTimestamp64Milli({to:Int64})
    UNION ALL
    SELECT
        flushNumber AS hotFlush, partition, 0 AS isMarker, flushNumber,
        sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
    FROM $HOT_SESSIONS$
    WHERE projectId = {site:String}
        AND startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
),
sums AS
(
    SELECT
        partition,
        hotFlush,
        entryOrigin,
        entryPath,
        maxIf(flushNumber, isMarker AND sign > 0) AS marker,
        sumIf(sign, NOT isMarker) AS begun,
        sumIf(sign, NOT isMarker AND screenViews <= 1) AS bounced,
        sumIf(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt)), NOT isMarker) AS lastedMs
    FROM found
    GROUP BY partition, hotFlush, entryOrigin, entryPath
)
SELECT
    ranked.origin AS origin, ranked.path AS path, ranked.title AS title,
    ranked.sessions AS sessions, ranked.pageviews AS pageviews, ranked.visitors AS visitors, ranked.revenue AS revenue,
    ranked.summedEntries + entered.entries AS entries,
    ranked.summedBounces + entered.bounces AS bounces,
    ranked.summedMs + entered.durationMs AS durationMs,
    ranked.leastBound AS leastBound, ranked.candidates AS candidates
FROM ranked
LEFT JOIN
(
    SELECT
        entryOrigin AS origin,
        entryPath AS path,
        sum(begun) AS entries,
        sum(bounced) AS bounces,
        sum(lastedMs) AS durationMs
    FROM
    (
        SELECT *, max(marker) OVER (PARTITION BY partition) AS inStore
        FROM sums
    )
    WHERE hotFlush = 0 OR hotFlush > inStore
    GROUP BY origin, path
) AS entered USING (origin, path)
ORDER BY sessions DESC, path, origin
-- The hours that are read from rows are few, and the index leads to them.
SETTINGS use_index_for_in_with_subqueries = 1
