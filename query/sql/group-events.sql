-- The events of a range that name a group or have a member of it as visitor, and the number of members among the
-- visitors. The newest states of the hot sessions replace everything in the store about these sessions; see seam.ts.
WITH
$IF_HOT$ hot AS $HOT_STATES$, $END_HOT$
members AS ($MEMBERS$)
SELECT
    count() AS events,
    countIf(name = {screenView:String}) AS screenViews,
    uniqExactIf(visitor, isMember) AS activeMembers,
    mapApply((code, amount) -> (code, toString(amount)), sumMapIf(map(toString(currency), toInt128(revenue)), revenue != 0)) AS revenue
FROM
(
    SELECT name, currency, revenue, isNamed, $EVENT_VISITOR$ AS visitor, visitor IN (SELECT id FROM members) AS isMember
    FROM
    (
        SELECT
            sessionId, profileId, deviceId, toString(name) AS name, toString(currency) AS currency, revenue,
            has(groups, {group:String}) AS isNamed
        FROM events
        WHERE projectId = {site:String}
            AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
            AND $IN_SPAN$
            AND name NOT IN {synthetic:Array(String)}
            AND ($FILTER$)
        $IF_HOT$
        UNION ALL
        SELECT
            sessionId, profileId, deviceId, name, currency, revenue,
            has(groups, {group:String}) AS isNamed
        FROM $HOT_EVENTS$
        WHERE projectId = {site:String}
            AND $IN_SPAN$
            AND name NOT IN {synthetic:Array(String)}
            AND ($HOT_FILTER$)
        $END_HOT$
    ) AS happened
    ANY LEFT JOIN $SPAN_PROFILES$ AS named USING (sessionId)
    WHERE isNamed OR isMember
)
