-- The rollups of a span and of its buckets, for the cache. With the visitors of the span, and of the buckets to which rows
-- may add some (`openEdges`), unless they are too many. See rollups/rollup-cache.ts.
SELECT * EXCEPT (allVisitors, cached)
FROM
(
    SELECT
        grouping(edge) AS isTotal,
        edge,
        sum(screenViews) AS screenViews,
        mapApply((code, amount) -> (code, toString(amount)), sumMap(revenue)) AS revenue,
        sum(sessions) AS sessions,
        sum(bounces) AS bounces,
        sum(durationMs) AS durationMs,
        groupUniqArrayArrayMerge($CACHED_HASHES_MAX$)(named) AS allVisitors,
        length(allVisitors) AS visitors,
        if((isTotal OR edge IN {openEdges:Array(Int64)}) AND visitors <= {hashesMax:UInt64}, allVisitors, []) AS cached,
        $HASHES(cached)$ AS hashes
    FROM
    (
        SELECT
            roundDown(toInt64(toUnixTimestamp(hour)) * 1000, {edges:Array(Int64)}) AS edge,
            sum(screenViews) AS screenViews,
            sumMap(revenue) AS revenue,
            sum(begun) AS sessions,
            sum(bounced) AS bounces,
            sum(lastedMs) AS durationMs,
            groupUniqArrayArrayState($CACHED_HASHES_MAX$)(visitors) AS named
        FROM hourly_totals
        WHERE projectId = {site:String} AND $ROLLUP_HOURS$
        GROUP BY edge
    )
    GROUP BY GROUPING SETS ((), (edge))
)
