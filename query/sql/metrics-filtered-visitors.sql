-- As metrics-filtered.sql in one span, by bucket alone, with the visitors themselves.
$PASSING_SESSIONS$
SELECT
    edge,
    groupUniqArrayIfMerge($ROW_HASHES_MAX$)(seen) AS visitorHashes,
    $FIGURE_SUMS$
FROM $PASSING_FIGURES(groupUniqArray($ROW_HASHES_MAX$))$
GROUP BY edge
-- The hours of sessions that reach over an edge are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
