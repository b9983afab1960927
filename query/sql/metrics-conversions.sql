-- The sessions that began in two spans of time and reached a goal in the same span, by bucket and by whole span, with
-- their visitors, counted as in breakdown.sql. The condition on sessions includes the goal.
WITH
-- The newest states of the hot sessions replace everything in the store about these sessions; see seam.ts.
$IF_HOT$ hot AS $HOT_STATES$, $END_HOT$
found AS
(
    SELECT
        sign, startedAt,
        if(profileId = '' AND deviceId = '', 0, sipHash64(if(profileId != '', profileId, deviceId))) AS visitor
    FROM sessions
    WHERE projectId = {site:String}
        AND (startedAt >= fromUnixTimestamp64Milli({from:Int64}) AND startedAt < fromUnixTimestamp64Milli({to:Int64})
            OR startedAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND startedAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND ($SESSION_FILTER$)
        $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
    $IF_HOT$
    UNION ALL
    SELECT
        sign, startedAt,
        if(profileId = '' AND deviceId = '', 0, sipHash64(if(profileId != '', profileId, deviceId))) AS visitor
    FROM hot
    WHERE (startedAt >= fromUnixTimestamp64Milli({from:Int64}) AND startedAt < fromUnixTimestamp64Milli({to:Int64})
            OR startedAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND startedAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND ($SESSION_FILTER$)
    $END_HOT$
)
SELECT
    isCurrent,
    isTotal,
    edge,
    sum(begun) AS conversions,
    countIf(visitor != 0 AND begun > 0) AS visitors
FROM
(
    SELECT isCurrent, edge, visitor, grouping(edge) AS isTotal, sum(sign) AS begun
    FROM
    (
        SELECT
            sign, visitor,
            startedAt >= fromUnixTimestamp64Milli({from:Int64}) AS isCurrent,
            roundDown(toUnixTimestamp64Milli(startedAt), {edges:Array(Int64)}) AS edge
        FROM found
    )
    GROUP BY GROUPING SETS ((isCurrent, visitor), (isCurrent, edge, visitor))
)
GROUP BY isCurrent, isTotal, edge
