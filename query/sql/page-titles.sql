-- The latest titles of the pages with the named paths, of all views in a span of time: events up to the last flush that the
-- owner knew to be complete, and hot events.
SELECT origin, path, argMax(title, (createdAt, id)) AS lastTitle
FROM
(
    SELECT origin, path, title, createdAt, id
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
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
