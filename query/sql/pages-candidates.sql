-- The pages with the most sessions in rollups, with a session counted in each of its hours or days: `bound` is an upper
-- bound of a page's sessions in the rollups.
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
