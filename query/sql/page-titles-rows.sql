-- Like page-titles-finalized.sql for all other hours, from rows. No finalized hour or day overlaps with them, so the
-- later title is the latest.
SELECT origin, path, toUnixTimestamp(max(createdAt)) AS titledAt, argMax(title, (createdAt, id)) AS lastTitle
FROM $TITLED_ROW_VIEWS$
GROUP BY origin, path
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
