-- The pages with most sessions by their sums of hours and days, where who came in several of them is counted in each:
-- `bound` is what a page's sessions in them do not exceed.
SELECT path, sum(counted) AS bound
FROM
(
    SELECT origin, path, screenViews AS viewed, sessionsWithin + sessions.size0 AS counted
    FROM daily_pages
    WHERE projectId = {site:String}
        AND $ROLLUP_DAYS$
    UNION ALL
    SELECT origin, path, screenViews AS viewed, sessionsWithin + sessions.size0 AS counted
    FROM hourly_pages
    WHERE projectId = {site:String}
        AND $ROLLUP_HOURS$
)
GROUP BY origin, path
HAVING sum(viewed) > 0
ORDER BY bound DESC, path, origin
LIMIT {ranked:UInt64}
