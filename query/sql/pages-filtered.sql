-- Like pages.sql, with filters on sessions and without titles: page-titles.sql has the titles, whatever the filters. A
-- passing session provides its visitor, so only the page columns of events are read.
$PASSING_VIEWS$,
ranked AS
(
    SELECT
        origin,
        path,
        uniqExactIf(session, isScreenView AND session != 0) AS sessions,
        countIf(isScreenView) AS pageviews,
        uniqExactIf(visitor, isScreenView AND visitor != 0) AS visitors,
        toString(sumIf(toInt128(revenue), currency = {currency:String})) AS revenue
    FROM views
    GROUP BY origin, path
    HAVING pageviews > 0
    ORDER BY sessions DESC, path, origin
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
),
$ENTERED$
SELECT
    ranked.origin AS origin, ranked.path AS path,
    ranked.sessions AS sessions, ranked.pageviews AS pageviews, ranked.visitors AS visitors, ranked.revenue AS revenue,
    entered.begun AS entries, entered.bounced AS bounces, entered.lastedMs AS durationMs
FROM ranked
LEFT JOIN entered USING (origin, path)
ORDER BY sessions DESC, path, origin
