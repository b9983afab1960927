-- Like metrics-events.sql and metrics-sessions.sql, with filters only on sessions; passing-texts.ts explains how.
$PASSING_SESSIONS$
SELECT
    isCurrent,
    grouping(edge) AS isTotal,
    edge,
    uniqExactIfMerge(seen) AS visitors,
    $FIGURE_SUMS$
FROM $PASSING_FIGURES(uniqExact)$
GROUP BY GROUPING SETS ((isCurrent), (isCurrent, edge))
-- Sessions that cross an edge have few hours, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
