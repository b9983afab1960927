-- The number of events of event-list.sql in each piece of a range. Same conditions, same rows.
SELECT edge, count() AS events
FROM $EVENTS[
    SELECT roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge
    WHERE $IN_SPAN$
        AND if(empty({names:Array(String)}), name NOT IN {synthetic:Array(String)}, has({names:Array(String)}, name))
        AND ({profileId:String} = '' OR profileId = {profileId:String})
        AND ({sessionId:String} = '' OR sessionId = unhex({sessionId:String}))
        AND ($FILTER$)
]$
GROUP BY edge
