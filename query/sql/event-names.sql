-- The names of a site's events, with their numbers of events.
SELECT name AS word, count() AS events
FROM $EVENTS[
    SELECT name
    WHERE $IN_SPAN$
        AND ($FILTER$)
]$
GROUP BY word
ORDER BY events DESC, word
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
