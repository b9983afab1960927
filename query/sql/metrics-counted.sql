-- As metrics-finalized.sql with the number of visitors alone: for the previous span, for the first question about a span, and where
-- the visitors are too many to be cached.
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
