-- As pages.sql with filters on sessions, and without titles: page-titles.sql has those, whatever the filters. A session that
-- passes brings its visitor along, so that of the events only the columns of pages are read.
WITH
-- The newest states of the hot sessions replace everything in the store about these sessions; see seam.ts.
$IF_HOT$ hot AS $HOT_STATES$, $END_HOT$
happened AS
(
    SELECT origin, path, revenue, currency, sessionId, name = {screenView:String} AS isScreenView
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND (name = {screenView:String} OR revenue != 0)
        AND ($EVENT_FILTER$)
    $IF_HOT$
    UNION ALL
    SELECT origin, path, revenue, currency, sessionId, name = {screenView:String} AS isScreenView
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND (name = {screenView:String} OR revenue != 0)
        AND ($EVENT_FILTER$)
    $END_HOT$
),
-- Events without a session are filtered by their own columns.
alone AS
(
    SELECT origin, path, revenue, currency, name = {screenView:String} AS isScreenView, $VISITOR$ AS visitor
    FROM events
    WHERE projectId = {site:String}
        AND sessionId = toFixedString('', 16)
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND (name = {screenView:String} OR revenue != 0)
        AND ($ALONE_FILTER$)
    $IF_HOT$
    UNION ALL
    SELECT origin, path, revenue, currency, name = {screenView:String} AS isScreenView, $VISITOR$ AS visitor
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND sessionId = toFixedString('', 16)
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND (name = {screenView:String} OR revenue != 0)
        AND ($ALONE_FILTER$)
    $END_HOT$
),
ranked AS
(
    SELECT
        origin,
        path,
        uniqExactIf(session, isScreenView AND session != 0) AS sessions,
        countIf(isScreenView) AS pageviews,
        uniqExactIf(visitor, isScreenView AND visitor != 0) AS visitors,
        toString(sumIf(revenue, currency = {currency:String})) AS revenue
    FROM
    (
        SELECT origin, path, revenue, currency, isScreenView, session, visitor
        FROM happened
        INNER JOIN $SPAN_PASSING$ AS passing USING (sessionId)
        UNION ALL
        SELECT origin, path, revenue, currency, isScreenView, 0 AS session, visitor
        FROM alone
    )
    GROUP BY origin, path
    HAVING pageviews > 0
    ORDER BY sessions DESC, path, origin
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
),
found AS
(
    SELECT sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
    FROM sessions
    WHERE projectId = {site:String}
        AND startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
        $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
    $IF_HOT$
    UNION ALL
    SELECT sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
    FROM hot
    WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
    $END_HOT$
)
SELECT
    ranked.origin AS origin, ranked.path AS path,
    ranked.sessions AS sessions, ranked.pageviews AS pageviews, ranked.visitors AS visitors, ranked.revenue AS revenue,
    entered.entries AS entries, entered.bounces AS bounces, entered.durationMs AS durationMs
FROM ranked
LEFT JOIN
(
    SELECT
        entryOrigin AS origin,
        entryPath AS path,
        sum(sign) AS entries,
        sum(sign * (screenViews <= 1)) AS bounces,
        sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt))) AS durationMs
    FROM found
    GROUP BY origin, path
) AS entered USING (origin, path)
ORDER BY sessions DESC, path, origin
