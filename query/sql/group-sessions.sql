-- The members of a group, and their sessions that began in a range.
WITH members AS ($MEMBERS$)
SELECT sum(begun) AS sessions, (SELECT count() FROM members) AS members
FROM $SESSIONS[
    SELECT toInt64(sign) AS begun
    WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND profileId IN (SELECT id FROM members)
        AND ($SESSION_FILTER$)
]$
