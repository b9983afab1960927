-- All goals together: the sessions that began in a span of time, and for each goal the ones that reached it in the
-- span, with their visitors, counted as in ranked-sessions.ts. The goals of an event or a session are the bits of a number.
WITH reached AS
(
    SELECT sessionId AS id, groupBitOr(goals) AS passed
    FROM $EVENTS[
        SELECT sessionId, $GOALS$ AS goals
        WHERE $IN_SPAN$
            AND name NOT IN {synthetic:Array(String)}
            AND sessionId != toFixedString('', 16)
    ]$
    WHERE goals != 0
    GROUP BY sessionId
),
found AS $SESSIONS[
    SELECT
        id, sign, $SESSION_GOALS$ AS open,
        $WHOLE_VISITOR$ AS visitor
    WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
]$
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
