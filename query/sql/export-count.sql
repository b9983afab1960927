-- How many events the pages of export-events.sql hold together: the same conditions over the same rows.
SELECT count() AS total
FROM
(
    SELECT createdAt
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND (empty({names:Array(String)}) OR has({names:Array(String)}, name))
        AND ({profileId:String} = '' OR profileId = {profileId:String})
        AND ($FILTER$)
    UNION ALL
    SELECT createdAt
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND (empty({names:Array(String)}) OR has({names:Array(String)}, name))
        AND ({profileId:String} = '' OR profileId = {profileId:String})
        AND ($HOT_FILTER$)
)
