-- One row if an event names the profile, else none.
SELECT 1 AS named
FROM $EVENTS[
    SELECT profileId
    WHERE profileId = {profileId:String}
    LIMIT 1
]$
LIMIT 1
