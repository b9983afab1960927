-- One page of profile ids in the order of a value, each with the value; see people/profile-list.ts. A profile has a
-- record, or is the visitor of an event. `ofVisits` and `ofRecords` leave one of the two out.
WITH -- Sessions with replaced states in the store. All others have one row, so only these few are grouped.
replaced AS
(
    SELECT id
    FROM sessions
    WHERE projectId = {site:String} AND sign < 0 AND {ofVisits:UInt8}
)
SELECT profileId AS id, toString(place) AS value
FROM
(
    SELECT profileId, toInt128($FIGURE$) AS place
    FROM
    (
        $SESSIONS[
            SELECT
                profileId,
                toUnixTimestamp64Milli(endedAt) AS seenMs,
                1 AS begun,
                revenue[{currency:String}] AS amount,
                {never:Int64} AS madeMs
            WHERE {ofVisits:UInt8}
                AND endedAt >= fromUnixTimestamp64Milli({from:Int64})
                AND profileId != ''
                AND id NOT IN (SELECT id FROM replaced)
            STORED WHERE touchedAt >= fromUnixTimestamp64Milli({touchedFrom:Int64})
        ]$
        UNION ALL
        SELECT
            state.1 AS profileId,
            toUnixTimestamp64Milli(state.2) AS seenMs,
            1 AS begun,
            state.3 AS amount,
            {never:Int64} AS madeMs
        FROM
        (
            SELECT argMaxIf((profileId, endedAt, amount), version, sign > 0) AS state
            FROM $SESSIONS[
                SELECT id, version, sign, profileId, endedAt, revenue[{currency:String}] AS amount
                WHERE {ofVisits:UInt8}
                    AND endedAt >= fromUnixTimestamp64Milli({from:Int64})
                    AND profileId != ''
                    AND id IN (SELECT id FROM replaced)
                STORED WHERE touchedAt >= fromUnixTimestamp64Milli({touchedFrom:Int64})
            ]$
            GROUP BY id
            HAVING sum(sign) > 0
        )
        UNION ALL
        $EVENTS[
            SELECT
                profileId,
                toUnixTimestamp64Milli(createdAt) AS seenMs,
                0 AS begun,
                if(currency = {currency:String}, revenue, 0) AS amount,
                {never:Int64} AS madeMs
            WHERE {ofVisits:UInt8}
                AND $NAMED_ALONE$
                AND $IN_SPAN$
        ]$
        UNION ALL
        SELECT
            id AS profileId,
            {never:Int64} AS seenMs,
            0 AS begun,
            0 AS amount,
            toUnixTimestamp64Milli(createdAt) AS madeMs
        FROM profiles FINAL
        WHERE projectId = {site:String} AND {ofRecords:UInt8}
    )
    WHERE profileId NOT IN (SELECT profileId FROM erasing WHERE projectId = {site:String}) AND ($FILTER$)
    GROUP BY profileId
)
WHERE place < {behindValue:Int128} OR place = {behindValue:Int128} AND ({isFirst:UInt8} OR profileId > {behindId:String})
ORDER BY place DESC, profileId
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
