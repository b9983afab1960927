-- The marks of the stored states of a profile's sessions, up to a limit; see people/profile-states.ts. A replaced state
-- comes twice, with `sign` 1 and -1.
SELECT lower(hex(id)) AS id, screenViews, otherEvents, toString(version) AS version, sign
FROM $SESSIONS[
    SELECT id, screenViews, otherEvents, version, sign
    WHERE profileId = {profileId:String}
]$
LIMIT {limit:UInt64}
