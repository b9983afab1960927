-- The times of the first and the last event in a part of a site's history, in milliseconds since 1970, and their number.
SELECT toUnixTimestamp64Milli(min(createdAt)) AS firstMs, toUnixTimestamp64Milli(max(createdAt)) AS lastMs, count() AS rows
FROM
(
    SELECT createdAt
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
    $IF_HOT$
    UNION ALL
    SELECT createdAt
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
    $END_HOT$
)
