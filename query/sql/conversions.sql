-- The sessions that began in a span of time and reached a goal, by two columns, only for the named rows. Counted as in
-- breakdown.sql. The condition on sessions includes the goal.
WITH
-- The newest states of the hot sessions replace everything in the store about these sessions; see seam.ts.
$IF_HOT$ hot AS $HOT_STATES$, $END_HOT$
found AS
(
    SELECT
        sign, $COLUMNS$,
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
        sign, $COLUMNS$,
        if(profileId = '' AND deviceId = '', 0, sipHash64(if(profileId != '', profileId, deviceId))) AS visitor
    FROM hot
    WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
    $END_HOT$
)
SELECT
    prefix,
    name,
    sum(begun) AS conversions,
    countIf(visitor != 0 AND begun > 0) AS visitors
FROM
(
    SELECT toString(prefix) AS prefix, toString(name) AS name, visitor, sum(sign) AS begun
    FROM found
    GROUP BY prefix, name, visitor
)
WHERE (prefix, name) IN
(
    SELECT row.1, row.2
    FROM (SELECT arrayJoin(arrayZip({prefixes:Array(String)}, {names:Array(String)})) AS row)
)
GROUP BY prefix, name
HAVING conversions > 0
