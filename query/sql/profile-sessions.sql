-- One page of the sessions of a profile, newest first, ties by id, each in its current state. The index on the
-- profile skips other profiles; it could not if the same scan read markers (session-list.sql).
SELECT * REPLACE
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
        SELECT $COLUMNS$
        FROM
        (
            SELECT *, sum(sign) OVER (PARTITION BY id) AS currentStates
            FROM $SESSIONS[
                SELECT $COLUMNS$, version, sign
                WHERE profileId = {profileId:String}
            ]$
        )
        WHERE currentStates > 0 AND sign > 0
        ORDER BY version DESC
        LIMIT 1 BY id
    )
    WHERE startedAt < fromUnixTimestamp64Milli({behindAt:Int64})
        OR startedAt = fromUnixTimestamp64Milli({behindAt:Int64}) AND id > unhex({behindId:String})
)
ORDER BY startedAt DESC, id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
