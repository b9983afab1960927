-- The times of the first and the last event in a part of a site's history, in ms since 1970, and the number of events.
SELECT toUnixTimestamp64Milli(min(createdAt)) AS firstMs, toUnixTimestamp64Milli(max(createdAt)) AS lastMs, count() AS rows
FROM $EVENTS[
    SELECT createdAt
    WHERE $IN_SPAN$
]$
