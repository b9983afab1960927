-- Like metrics-finalized.sql, with only the number of visitors: for the previous span, for the first question about a
-- span, and for spans with too many visitors to cache.
SELECT
    grouping(edge) AS isTotal,
    edge,
    uniqExactArrayMerge(named) AS visitors,
    '' AS hashes,
    $FIGURE_SUMS$
FROM
(
    SELECT
        $HOUR_SUMS$,
        uniqExactArrayState(visitors) AS named
    FROM hourly_totals
    WHERE projectId = {site:String} AND $ROLLUP_HOURS$
    GROUP BY edge
)
GROUP BY GROUPING SETS ((), (edge))
