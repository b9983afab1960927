-- The names of a site's events, with their numbers of events.
SELECT name AS word, count() AS events
FROM
(
    SELECT name
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND $IN_SPAN$
        AND ($FILTER$)
    $IF_HOT$
    UNION ALL
    SELECT name
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND $IN_SPAN$
        AND ($HOT_FILTER$)
    $END_HOT$
)
GROUP BY word
ORDER BY events DESC, word
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
