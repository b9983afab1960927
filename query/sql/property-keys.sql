-- The property keys of a site's events, with their numbers of events.
SELECT arrayJoin(keys) AS word, count() AS events
FROM $EVENTS[
    SELECT mapKeys(properties) AS keys
    WHERE $IN_SPAN$
        AND if(empty({names:Array(String)}), name NOT IN {synthetic:Array(String)}, has({names:Array(String)}, name))
        AND ($FILTER$)
]$
GROUP BY word
ORDER BY events DESC, word
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
