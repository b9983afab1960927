-- The last events that name a profile, newest first, ties by id: as event-list.sql answers it, with the conditions alone that this takes.
SELECT * REPLACE
(
    lower(hex(id)) AS id,
    lower(hex(sessionId)) AS sessionId,
    toUnixTimestamp64Milli(createdAt) AS createdAt,
    toUnixTimestamp64Milli(receivedAt) AS receivedAt,
    toString(revenue) AS revenue
)
FROM
(
    SELECT $COLUMNS$
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND profileId = {profileId:String}
    $IF_HOT$
    UNION ALL
    SELECT $COLUMNS$
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND profileId = {profileId:String}
    $END_HOT$
)
ORDER BY createdAt DESC, id
LIMIT {limit:UInt64}
