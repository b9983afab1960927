-- As pages.sql without filters: from the sums of those days and hours that have them, and from rows for the others; for
-- the pages whose paths are named, or for every page. A page's visitors are the union of its spans', and so are the sessions that
-- reach beyond one; the others are counted (processor/rollups). A last row says how many sessions a page that is not named
-- has at the most in the rows.
WITH named AS
(
    SELECT
        toUnixTimestamp(day) AS at, origin, path, title AS lastTitle, screenViews AS viewed,
        revenue[{currency:String}] AS earned, begun, bounced, lastedMs,
        sessionsWithin AS within, sessions AS sessionHashes, visitors AS visitorHashes
    FROM daily_pages
    WHERE projectId = {site:String}
        AND $SUMMED_DAYS$
        AND ({every:UInt8} OR path IN {paths:Array(String)})
    UNION ALL
    SELECT
        toUnixTimestamp(hour) AS at, origin, path, title AS lastTitle, screenViews AS viewed,
        revenue[{currency:String}] AS earned, begun, bounced, lastedMs,
        sessionsWithin AS within, sessions AS sessionHashes, visitors AS visitorHashes
    FROM hourly_pages
    WHERE projectId = {site:String}
        AND $SUMMED_HOURS$
        AND ({every:UInt8} OR path IN {paths:Array(String)})
    UNION ALL
    SELECT
        toUnixTimestamp(maxIf(createdAt, isScreenView AND title != '')) AS at,
        origin,
        path,
        argMaxIf(title, (createdAt, id), isScreenView AND title != '') AS lastTitle,
        countIf(isScreenView) AS viewed,
        sum(amount) AS earned,
        0 AS begun, 0 AS bounced, 0 AS lastedMs, 0 AS within,
        groupUniqArrayIf(session, isScreenView AND session != 0) AS sessionHashes,
        groupUniqArrayIf(visitor, isScreenView AND visitor != 0) AS visitorHashes
    FROM
    (
        SELECT
            origin, path, title, id, createdAt, name = {screenView:String} AS isScreenView,
            $SESSION$ AS session, $VISITOR$ AS visitor, if(currency = {currency:String}, revenue, 0) AS amount
        FROM events
        WHERE projectId = {site:String}
            AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
            AND toStartOfHour(createdAt) IN (SELECT toDateTime(arrayJoin({rowHours:Array(UInt32)}), 'UTC'))
            AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
            AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            AND (name = {screenView:String} OR revenue != 0)
        UNION ALL
        SELECT
            origin, path, title, id, createdAt, name = {screenView:String} AS isScreenView,
            $SESSION$ AS session, $VISITOR$ AS visitor, if(currency = {currency:String}, revenue, 0) AS amount
        FROM $HOT_EVENTS$
        WHERE projectId = {site:String}
            AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
            AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            AND (name = {screenView:String} OR revenue != 0)
    )
    GROUP BY origin, path
)
SELECT
    isNamed,
    if(isNamed, origin, '') AS origin,
    if(isNamed, path, '') AS path,
    argMaxIf(lastTitle, at, isNamed AND lastTitle != '') AS title,
    sumIf(within, isNamed) + uniqExactArrayIf(sessionHashes, isNamed) AS sessions,
    maxIf(length(sessionHashes), NOT isNamed) AS sessionsMax,
    sum(viewed) AS pageviews,
    uniqExactArrayIf(visitorHashes, isNamed) AS visitors,
    toString(sum(earned)) AS revenue,
    sum(begun) AS entries,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs
FROM
(
    SELECT *, {every:UInt8} OR path IN {paths:Array(String)} AS isNamed
    FROM named
)
GROUP BY isNamed, origin, path
HAVING pageviews > 0 OR NOT isNamed
ORDER BY isNamed DESC, sessions DESC, path, origin
-- The hours that are read from rows are few, and the index leads to them.
SETTINGS use_index_for_in_with_subqueries = 1
