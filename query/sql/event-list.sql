-- One page of a site's events, newest first, ties by id, from its part of the range; see page-span.ts.
SELECT * REPLACE
(
    lower(hex(id)) AS id,
    lower(hex(sessionId)) AS sessionId,
    toUnixTimestamp64Milli(createdAt) AS createdAt,
    toUnixTimestamp64Milli(receivedAt) AS receivedAt,
    toString(revenue) AS revenue
)
FROM $EVENTS[
    SELECT $COLUMNS$
    WHERE $IN_SPAN$
        AND if(empty({names:Array(String)}), name NOT IN {synthetic:Array(String)}, has({names:Array(String)}, name))
        AND ({profileId:String} = '' OR profileId = {profileId:String})
        AND ({sessionId:String} = '' OR sessionId = unhex({sessionId:String}))
        AND (createdAt < fromUnixTimestamp64Milli({behindAt:Int64}) OR id > unhex({behindId:String}))
        AND ($FILTER$)
]$
ORDER BY createdAt DESC, id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
