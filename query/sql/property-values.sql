-- The values of one property of a site's events, with their numbers of events.
SELECT word, count() AS events
FROM $EVENTS[
    SELECT properties[{property:String}] AS word
    WHERE $IN_SPAN$
        AND if(empty({names:Array(String)}), name NOT IN {synthetic:Array(String)}, has({names:Array(String)}, name))
        AND mapContains(properties, {property:String})
        AND ($FILTER$)
]$
GROUP BY word
ORDER BY events DESC, word
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
