-- One page of a site's events, newest first, ties by id, from its part of the range; see page-span.ts.
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
        AND $IN_SPAN$
        AND if(empty({names:Array(String)}), name NOT IN {synthetic:Array(String)}, has({names:Array(String)}, name))
        AND ({profileId:String} = '' OR profileId = {profileId:String})
        AND ({sessionId:String} = '' OR sessionId = unhex({sessionId:String}))
        AND (createdAt < fromUnixTimestamp64Milli({behindAt:Int64}) OR id > unhex({behindId:String}))
        AND ($FILTER$)
    $IF_HOT$
    UNION ALL
    SELECT $COLUMNS$
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND $IN_SPAN$
        AND if(empty({names:Array(String)}), name NOT IN {synthetic:Array(String)}, has({names:Array(String)}, name))
        AND ({profileId:String} = '' OR profileId = {profileId:String})
        AND ({sessionId:String} = '' OR sessionId = unhex({sessionId:String}))
        AND (createdAt < fromUnixTimestamp64Milli({behindAt:Int64}) OR id > unhex({behindId:String}))
        AND ($HOT_FILTER$)
    $END_HOT$
)
ORDER BY createdAt DESC, id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
