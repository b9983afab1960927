-- One page of profile ids in the order of a value, each with the value; see people/profile-list.ts. A profile has a
-- record, or is the visitor of an event. `ofVisits` and `ofRecords` leave one of the two out. The newest states of the
-- hot sessions replace everything in the store about these sessions; see seam.ts.
WITH
$IF_HOT$ hot AS $HOT_STATES$, $END_HOT$
-- Sessions with replaced states in the store. All others have one row, so only these few are grouped.
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
        SELECT
            profileId,
            toUnixTimestamp64Milli(endedAt) AS seenMs,
            1 AS begun,
            revenue[{currency:String}] AS amount,
            {never:Int64} AS madeMs
        FROM sessions
        WHERE projectId = {site:String}
            AND {ofVisits:UInt8}
            AND touchedAt >= fromUnixTimestamp64Milli({touchedFrom:Int64})
            AND endedAt >= fromUnixTimestamp64Milli({from:Int64})
            AND profileId != ''
            AND id NOT IN (SELECT id FROM replaced)
            $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
        UNION ALL
        SELECT
            state.1 AS profileId,
            toUnixTimestamp64Milli(state.2) AS seenMs,
            1 AS begun,
            state.3 AS amount,
            {never:Int64} AS madeMs
        FROM
        (
            SELECT argMaxIf((profileId, endedAt, revenue[{currency:String}]), version, sign > 0) AS state
            FROM sessions
            WHERE projectId = {site:String}
                AND {ofVisits:UInt8}
                AND touchedAt >= fromUnixTimestamp64Milli({touchedFrom:Int64})
                AND endedAt >= fromUnixTimestamp64Milli({from:Int64})
                AND profileId != ''
                AND id IN (SELECT id FROM replaced)
                $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
            GROUP BY id
            HAVING sum(sign) > 0
        )
        UNION ALL
        SELECT
            profileId,
            toUnixTimestamp64Milli(createdAt) AS seenMs,
            0 AS begun,
            if(currency = {currency:String}, revenue, 0) AS amount,
            {never:Int64} AS madeMs
        FROM events
        WHERE projectId = {site:String}
            AND {ofVisits:UInt8}
            AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
            AND $NAMED_ALONE$
            AND $IN_SPAN$
        $IF_HOT$
        UNION ALL
        SELECT
            profileId,
            toUnixTimestamp64Milli(endedAt) AS seenMs,
            1 AS begun,
            revenue[{currency:String}] AS amount,
            {never:Int64} AS madeMs
        FROM hot
        WHERE {ofVisits:UInt8}
            AND endedAt >= fromUnixTimestamp64Milli({from:Int64})
            AND profileId != ''
        UNION ALL
        SELECT
            profileId,
            toUnixTimestamp64Milli(createdAt) AS seenMs,
            0 AS begun,
            if(currency = {currency:String}, revenue, 0) AS amount,
            {never:Int64} AS madeMs
        FROM $HOT_EVENTS$
        WHERE projectId = {site:String}
            AND {ofVisits:UInt8}
            AND $NAMED_ALONE$
            AND $IN_SPAN$
        $END_HOT$
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
