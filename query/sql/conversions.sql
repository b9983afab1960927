-- The sessions that began in a span of time and reached a goal, by two columns, only for the named rows. Counted as in
-- breakdown.sql. The condition on sessions includes the goal.
WITH found AS $SESSIONS[
    SELECT
        sign, $COLUMNS$,
        $WHOLE_VISITOR$ AS visitor
    WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
]$
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
