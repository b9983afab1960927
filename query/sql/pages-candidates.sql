-- The pages with most sessions in their rollups, where a session that spans several hours or days counts in each: `bound` is
-- the most sessions that a page can have in the rollups.
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
