-- As page-titles.sql: selected days and hours from their rollups, all other hours from rows. No two of them overlap, so the
-- latest has the title.
SELECT origin, path, argMaxIf(title, at, title != '') AS lastTitle
FROM
(
    SELECT at, origin, path, lastTitle AS title
    FROM $PAGE_ROLLUPS$
    UNION ALL
    SELECT toUnixTimestamp(max(createdAt)) AS at, origin, path, argMax(title, (createdAt, id)) AS title
    FROM $TITLED_ROW_VIEWS$
    GROUP BY origin, path
)
GROUP BY origin, path
HAVING lastTitle != ''
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
