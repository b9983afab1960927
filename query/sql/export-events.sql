-- One page of a site's events, newest first, ties by id. Columns are gathered for one page only, because the sort
-- keeps no more rows than the page and those before it.
SELECT * REPLACE
(
    lower(hex(id)) AS id,
    lower(hex(sessionId)) AS sessionId,
    toUnixTimestamp64Milli(createdAt) AS createdAt,
    toUnixTimestamp64Milli(receivedAt) AS receivedAt,
    toString(revenue) AS revenue
)
FROM
(
    SELECT $COLUMNS$
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND (empty({names:Array(String)}) OR has({names:Array(String)}, name))
        AND ({profileId:String} = '' OR profileId = {profileId:String})
        AND ($FILTER$)
    UNION ALL
    SELECT $COLUMNS$
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND createdAt >= fromUnixTimestamp64Milli({from:Int64})
        AND createdAt < fromUnixTimestamp64Milli({to:Int64})
        AND (empty({names:Array(String)}) OR has({names:Array(String)}, name))
        AND ({profileId:String} = '' OR profileId = {profileId:String})
        AND ($HOT_FILTER$)
)
ORDER BY createdAt DESC, id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
