-- For each of the named pages: the sessions that viewed it in a span of time and reached a goal in it, with their
-- visitors. The conditions on events include the goal. The newest states of the hot sessions replace everything in the
-- store about these sessions; see seam.ts.
$IF_HOT$ WITH hot AS $HOT_STATES$ $END_HOT$
SELECT
    origin AS prefix,
    path AS name,
    uniqExact(sessionId) AS conversions,
    uniqExactIf(visitor, visitor != '') AS visitors
FROM
(
    SELECT origin, path, sessionId, $EVENT_VISITOR$ AS visitor
    FROM
    (
        SELECT origin, path, sessionId, profileId, deviceId
        FROM events
        WHERE projectId = {site:String}
            AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
            AND $IN_SPAN$
            AND name = {screenView:String}
            AND path IN {names:Array(String)}
            AND ($FILTER$)
        $IF_HOT$
        UNION ALL
        SELECT origin, path, sessionId, profileId, deviceId
        FROM $HOT_EVENTS$
        WHERE projectId = {site:String}
            AND $IN_SPAN$
            AND name = {screenView:String}
            AND path IN {names:Array(String)}
            AND ($HOT_FILTER$)
        $END_HOT$
    ) AS happened
    ANY LEFT JOIN $SPAN_PROFILES$ AS named USING (sessionId)
)
WHERE (origin, path) IN
(
    SELECT row.1, row.2
    FROM (SELECT arrayJoin(arrayZip({prefixes:Array(String)}, {names:Array(String)})) AS row)
)
GROUP BY origin, path
