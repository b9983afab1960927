-- The times of the first and the last event in a part of a site's history, in ms since 1970, and the number of events.
SELECT toUnixTimestamp64Milli(min(createdAt)) AS firstMs, toUnixTimestamp64Milli(max(createdAt)) AS lastMs, count() AS rows
FROM
(
    SELECT createdAt
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND $IN_SPAN$
    $IF_HOT$
    UNION ALL
    SELECT createdAt
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND $IN_SPAN$
    $END_HOT$
)
