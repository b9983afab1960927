-- The property keys of a site's events, with their numbers of events.
SELECT arrayJoin(keys) AS word, count() AS events
FROM
(
    SELECT mapKeys(properties) AS keys
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND $IN_SPAN$
        AND if(empty({names:Array(String)}), name NOT IN {synthetic:Array(String)}, has({names:Array(String)}, name))
        AND ($FILTER$)
    $IF_HOT$
    UNION ALL
    SELECT mapKeys(properties) AS keys
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND $IN_SPAN$
        AND if(empty({names:Array(String)}), name NOT IN {synthetic:Array(String)}, has({names:Array(String)}, name))
        AND ($HOT_FILTER$)
    $END_HOT$
)
GROUP BY word
ORDER BY events DESC, word
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
