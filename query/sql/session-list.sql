-- One page of the sessions that began in a span of time, newest first, ties by id, each in its current state. Only the
-- whole scan shows which hot flushes are already in the store; see seam.ts. The counted rows of a session cancel each
-- other in pairs of +1 and -1, except the +1 row of the highest version. If none is left, the session has moved out of
-- the span, or to another profile.
SELECT * EXCEPT (sign, version, currentStates)
REPLACE
(
    lower(hex(id)) AS id,
    toUnixTimestamp64Milli(startedAt) AS startedAt,
    toUnixTimestamp64Milli(endedAt) AS endedAt,
    $SHOWN_AMOUNTS[revenue]$ AS revenue
)
FROM
(
    SELECT *
    FROM
    (
        SELECT *, sum(sign) OVER (PARTITION BY id) AS currentStates
        FROM $SCANNED_SESSIONS[
            SELECT version, $COLUMNS$
            WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
                AND startedAt < fromUnixTimestamp64Milli({to:Int64})
                AND ({profileId:String} = '' OR profileId = {profileId:String})
                AND (startedAt < fromUnixTimestamp64Milli({behindAt:Int64})
                    OR startedAt = fromUnixTimestamp64Milli({behindAt:Int64}) AND id > unhex({behindId:String}))
                AND ($SESSION_FILTER$)
        ]$
    )
    WHERE currentStates > 0 AND sign > 0
    ORDER BY version DESC
    LIMIT 1 BY id
)
ORDER BY startedAt DESC, id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
