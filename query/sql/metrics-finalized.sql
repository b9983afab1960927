-- The rollups of a span and of its buckets, for the cache. With the visitors of the span, and of the buckets to which
-- rows may add some (`openEdges`), unless they are too many. See rollups/rollup-cache.ts.
SELECT * EXCEPT (allVisitors, cached)
FROM
(
    SELECT
        grouping(edge) AS isTotal,
        edge,
        groupUniqArrayArrayMerge($CACHED_HASHES_MAX$)(named) AS allVisitors,
        length(allVisitors) AS visitors,
        if((isTotal OR edge IN {openEdges:Array(Int64)}) AND visitors <= {hashesMax:UInt64}, allVisitors, []) AS cached,
        $HASHES(cached)$ AS hashes,
        $FIGURE_SUMS$
    FROM
    (
        SELECT
            $HOUR_SUMS$,
            groupUniqArrayArrayState($CACHED_HASHES_MAX$)(visitors) AS named
        FROM hourly_totals
        WHERE projectId = {site:String} AND $ROLLUP_HOURS$
        GROUP BY edge
    )
    GROUP BY GROUPING SETS ((), (edge))
)
