-- The values of one property of a site's events, with their numbers of events.
SELECT word, count() AS events
FROM
(
    SELECT properties[{property:String}] AS word
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND $IN_SPAN$
        AND if(empty({names:Array(String)}), name NOT IN {synthetic:Array(String)}, has({names:Array(String)}, name))
        AND mapContains(properties, {property:String})
        AND ($FILTER$)
    $IF_HOT$
    UNION ALL
    SELECT properties[{property:String}] AS word
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND $IN_SPAN$
        AND if(empty({names:Array(String)}), name NOT IN {synthetic:Array(String)}, has({names:Array(String)}, name))
        AND mapContains(properties, {property:String})
        AND ($HOT_FILTER$)
    $END_HOT$
)
GROUP BY word
ORDER BY events DESC, word
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
