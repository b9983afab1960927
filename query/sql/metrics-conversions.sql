-- The sessions that began in two spans of time and reached a goal in the same span, by bucket and by whole span, with
-- their visitors, counted as in breakdown.sql. The condition on sessions includes the goal.
WITH found AS $SESSIONS[
    SELECT
        sign, startedAt,
        $WHOLE_VISITOR$ AS visitor
    WHERE (startedAt >= fromUnixTimestamp64Milli({from:Int64}) AND startedAt < fromUnixTimestamp64Milli({to:Int64})
            OR startedAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND startedAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND ($SESSION_FILTER$)
]$
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
