-- The pages viewed in a span of time: screen views, sessions, visitors, and the revenue of all events on the page.
-- Bounces and durations are of the sessions that began on the page, summed over `sign` as in breakdown.sql. The
-- requested rows are cut before these sessions are looked up.
WITH happened AS $EVENTS[
    SELECT
        origin, path, title, id, createdAt, sessionId, profileId, deviceId,
        name = {screenView:String} AS isScreenView,
        if(currency = {currency:String}, revenue, 0) AS amount
    WHERE $IN_SPAN$
        AND (name = {screenView:String} OR revenue != 0)
        AND ($FILTER$)
]$,
ranked AS
(
    SELECT
        origin,
        path,
        argMaxIf(title, (createdAt, id), isScreenView AND title != '') AS lastTitle,
        uniqExactIf(sessionId, isScreenView AND sessionId != toFixedString('', 16)) AS sessions,
        countIf(isScreenView) AS pageviews,
        uniqExactIf(visitor, isScreenView AND visitor != '') AS visitors,
        toString(sum(toInt128(amount))) AS revenue
    FROM
    (
        SELECT *, $EVENT_VISITOR$ AS visitor
        FROM happened
        ANY LEFT JOIN $SPAN_PROFILES$ AS named USING (sessionId)
    )
    GROUP BY origin, path
    HAVING pageviews > 0
    ORDER BY sessions DESC, path, origin
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
),
$ENTERED$
SELECT
    ranked.origin AS origin, ranked.path AS path, ranked.lastTitle AS title,
    ranked.sessions AS sessions, ranked.pageviews AS pageviews, ranked.visitors AS visitors, ranked.revenue AS revenue,
    entered.begun AS entries, entered.bounced AS bounces, entered.lastedMs AS durationMs
FROM ranked
LEFT JOIN entered USING (origin, path)
ORDER BY sessions DESC, path, origin
