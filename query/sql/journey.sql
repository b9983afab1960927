-- One page of a journey: events of some sessions, and events that name a profile outside of sessions, by time and id.
-- Sessions in `sessions` are read in their hours, sessions in `credited` everywhere.
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
        AND toStartOfHour(createdAt) IN {hours:Array(DateTime('UTC'))}
        AND sessionId IN (SELECT toFixedString(unhex(arrayJoin({sessions:Array(String)})), 16))
        AND name NOT IN {unwanted:Array(String)}
        AND $ON_PAGE$
    UNION ALL
    SELECT $COLUMNS$
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND notEmpty({credited:Array(String)})
        AND sessionId IN (SELECT toFixedString(unhex(arrayJoin({credited:Array(String)})), 16))
        AND name NOT IN {unwanted:Array(String)}
        AND $ON_PAGE$
    UNION ALL
    SELECT $COLUMNS$
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND {profileId:String} != ''
        AND profileId = {profileId:String}
        AND $NAMED_ALONE$
        AND $ON_PAGE$
    $IF_HOT$
    UNION ALL
    SELECT $COLUMNS$
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND (sessionId IN (SELECT toFixedString(unhex(arrayJoin(arrayConcat({sessions:Array(String)}, {credited:Array(String)}))), 16))
            OR {profileId:String} != '' AND profileId = {profileId:String} AND $NAMED_ALONE$)
        AND name NOT IN {unwanted:Array(String)}
        AND $ON_PAGE$
    $END_HOT$
)
ORDER BY $ORDER$
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
