-- The stored states of a profile's sessions, up to a limit; see people/profile-sessions.ts. A replaced state comes
-- twice, with `sign` 1 and -1.
SELECT * REPLACE
(
    lower(hex(id)) AS id,
    toUnixTimestamp64Milli(startedAt) AS startedAt,
    toUnixTimestamp64Milli(endedAt) AS endedAt,
    $SHOWN_AMOUNTS[revenue]$ AS revenue,
    toString(version) AS version
)
FROM $SESSIONS[
    SELECT $COLUMNS$, version, sign
    WHERE profileId = {profileId:String}
]$
LIMIT {limit:UInt64}
