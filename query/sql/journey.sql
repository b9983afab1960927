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
    $EVENTS[
        SELECT $COLUMNS$
        WHERE sessionId IN (SELECT toFixedString(unhex(arrayJoin({sessions:Array(String)})), 16))
            AND name NOT IN {unwanted:Array(String)}
            AND $ON_PAGE$
        STORED WHERE toStartOfHour(createdAt) IN {hours:Array(DateTime('UTC'))}
    ]$
    UNION ALL
    $EVENTS[
        SELECT $COLUMNS$
        WHERE notEmpty({credited:Array(String)})
            AND sessionId IN (SELECT toFixedString(unhex(arrayJoin({credited:Array(String)})), 16))
            AND name NOT IN {unwanted:Array(String)}
            AND $ON_PAGE$
    ]$
    UNION ALL
    $EVENTS[
        SELECT $COLUMNS$
        WHERE {profileId:String} != ''
            AND profileId = {profileId:String}
            AND $NAMED_ALONE$
            AND $ON_PAGE$
    ]$
)
ORDER BY $ORDER$
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
