-- The number of events of event-list.sql in each piece of a range. Same conditions, same rows.
SELECT edge, count() AS events
FROM
(
    SELECT roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND $IN_SPAN$
        AND if(empty({names:Array(String)}), name NOT IN {synthetic:Array(String)}, has({names:Array(String)}, name))
        AND ({profileId:String} = '' OR profileId = {profileId:String})
        AND ({sessionId:String} = '' OR sessionId = unhex({sessionId:String}))
        AND ($FILTER$)
    $IF_HOT$
    UNION ALL
    SELECT roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND $IN_SPAN$
        AND if(empty({names:Array(String)}), name NOT IN {synthetic:Array(String)}, has({names:Array(String)}, name))
        AND ({profileId:String} = '' OR profileId = {profileId:String})
        AND ({sessionId:String} = '' OR sessionId = unhex({sessionId:String}))
        AND ($HOT_FILTER$)
    $END_HOT$
)
GROUP BY edge
