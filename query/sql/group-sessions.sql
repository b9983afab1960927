-- The members of a group, and their sessions that began in a range. The newest states of the hot sessions replace
-- everything in the store about these sessions; see seam.ts.
WITH
$IF_HOT$ hot AS $HOT_STATES$, $END_HOT$
members AS ($MEMBERS$)
SELECT sum(begun) AS sessions, (SELECT count() FROM members) AS members
FROM
(
    SELECT toInt64(sign) AS begun
    FROM sessions
    WHERE projectId = {site:String}
        AND startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND profileId IN (SELECT id FROM members)
        AND ($SESSION_FILTER$)
        $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
    $IF_HOT$
    UNION ALL
    SELECT 1 AS begun
    FROM hot
    WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND profileId IN (SELECT id FROM members)
        AND ($SESSION_FILTER$)
    $END_HOT$
)
