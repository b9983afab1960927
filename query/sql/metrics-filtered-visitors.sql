-- Like metrics-filtered.sql in one span, only by bucket, with the visitors themselves.
$PASSING_SESSIONS$
SELECT
    edge,
    groupUniqArrayIfMerge($ROW_HASHES_MAX$)(seen) AS visitorHashes,
    $FIGURE_SUMS$
FROM $PASSING_FIGURES(groupUniqArray($ROW_HASHES_MAX$))$
GROUP BY edge
-- Sessions that cross an edge have few hours, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
