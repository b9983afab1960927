-- All goals together: the sessions that began in a span of time, and for each goal the ones that reached it in the
-- span, with their visitors, counted as in breakdown.sql. The goals of an event or a session are the bits of a number.
WITH
-- The newest states of the hot sessions replace everything in the store about these sessions; see seam.ts.
$IF_HOT$ hot AS $HOT_STATES$, $END_HOT$
reached AS
(
    SELECT sessionId AS id, groupBitOr(goals) AS passed
    FROM
    (
        SELECT sessionId, $GOALS$ AS goals
        FROM events
        WHERE projectId = {site:String}
            AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
            AND $IN_SPAN$
            AND name NOT IN {synthetic:Array(String)}
            AND sessionId != toFixedString('', 16)
        $IF_HOT$
        UNION ALL
        SELECT sessionId, $GOALS$ AS goals
        FROM $HOT_EVENTS$
        WHERE projectId = {site:String}
            AND $IN_SPAN$
            AND name NOT IN {synthetic:Array(String)}
            AND sessionId != toFixedString('', 16)
        $END_HOT$
    )
    WHERE goals != 0
    GROUP BY sessionId
),
found AS
(
    SELECT
        id, sign, $SESSION_GOALS$ AS open,
        if(profileId = '' AND deviceId = '', 0, sipHash64(if(profileId != '', profileId, deviceId))) AS visitor
    FROM sessions
    WHERE projectId = {site:String}
        AND startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
        $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
    $IF_HOT$
    UNION ALL
    SELECT
        id, sign, $SESSION_GOALS$ AS open,
        if(profileId = '' AND deviceId = '', 0, sipHash64(if(profileId != '', profileId, deviceId))) AS visitor
    FROM hot
    WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
    $END_HOT$
)
SELECT
    sum(begun) AS sessions,
    sumForEach(converted) AS conversions,
    sumForEach(arrayMap(one -> toUInt64(visitor != 0 AND one > 0), converted)) AS visitors
FROM
(
    SELECT
        visitor,
        sum(sign) AS begun,
        sumForEach(arrayMap(place -> sign * bitTest(bitAnd(passed, open), place), range({count:UInt8}))) AS converted
    FROM found
    ANY LEFT JOIN reached USING (id)
    GROUP BY visitor
)
