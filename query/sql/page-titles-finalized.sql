-- The latest titles of the pages with the named paths in the selected days and hours, from rollups, for the cache. The
-- start of the day or hour is comparable with the times of page-titles-rows.sql.
SELECT origin, path, max(at) AS titledAt, argMax(title, at) AS lastTitle
FROM
(
    SELECT at, origin, path, lastTitle AS title
    FROM $PAGE_ROLLUPS$
)
WHERE title != ''
GROUP BY origin, path
