-- As page-titles.sql: selected days and hours from their rollups, all other hours from rows. No two of them overlap, so the
-- latest has the title.
SELECT origin, path, argMaxIf(title, at, title != '') AS lastTitle
FROM
(
    SELECT at, origin, path, lastTitle AS title
    FROM $PAGE_ROLLUPS$
    UNION ALL
    SELECT toUnixTimestamp(max(createdAt)) AS at, origin, path, argMax(title, (createdAt, id)) AS title
    FROM
    (
        SELECT origin, path, title, createdAt, id
        FROM events
        WHERE projectId = {site:String}
            AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
            AND toStartOfHour(createdAt) IN (SELECT toDateTime(arrayJoin({rowHours:Array(UInt32)}), 'UTC'))
            AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
            AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            AND name = {screenView:String}
            AND title != ''
            AND path IN {paths:Array(String)}
        $IF_HOT$
        UNION ALL
        SELECT origin, path, title, createdAt, id
        FROM $HOT_EVENTS$
        WHERE projectId = {site:String}
            AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
            AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            AND name = {screenView:String}
            AND title != ''
            AND path IN {paths:Array(String)}
        $END_HOT$
    )
    GROUP BY origin, path
)
GROUP BY origin, path
HAVING lastTitle != ''
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
