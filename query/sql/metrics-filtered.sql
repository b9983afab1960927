-- As metrics-events.sql and metrics-sessions.sql with filters on sessions alone; passing-texts.ts explains how.
$PASSING_SESSIONS$
SELECT
    isCurrent,
    grouping(edge) AS isTotal,
    edge,
    uniqExactIfMerge(seen) AS visitors,
    $FIGURE_SUMS$
FROM $PASSING_FIGURES(uniqExact)$
GROUP BY GROUPING SETS ((isCurrent), (isCurrent, edge))
-- The hours of sessions that reach over an edge are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
