-- For each of the named pages: the sessions that viewed it in a span of time and reached a goal in it, with their
-- visitors. The conditions on events include the goal.
SELECT
    origin AS prefix,
    path AS name,
    uniqExact(sessionId) AS conversions,
    uniqExactIf(visitor, visitor != '') AS visitors
FROM
(
    SELECT origin, path, sessionId, $EVENT_VISITOR$ AS visitor
    FROM $EVENTS[
        SELECT origin, path, sessionId, profileId, deviceId
        WHERE $IN_SPAN$
            AND name = {screenView:String}
            AND path IN {names:Array(String)}
            AND ($FILTER$)
    ]$ AS happened
    ANY LEFT JOIN $SPAN_PROFILES$ AS named USING (sessionId)
)
WHERE (origin, path) IN
(
    SELECT row.1, row.2
    FROM (SELECT arrayJoin(arrayZip({prefixes:Array(String)}, {names:Array(String)})) AS row)
)
GROUP BY origin, path
