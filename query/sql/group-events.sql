-- The events of a range that name a group or have a member of it as visitor, and the number of members among the
-- visitors.
WITH members AS ($MEMBERS$)
SELECT
    count() AS events,
    countIf(name = {screenView:String}) AS screenViews,
    uniqExactIf(visitor, isMember) AS activeMembers,
    mapApply((code, amount) -> (code, toString(amount)), sumMapIf(map(toString(currency), toInt128(revenue)), revenue != 0)) AS revenue
FROM
(
    SELECT name, currency, revenue, isNamed, $EVENT_VISITOR$ AS visitor, visitor IN (SELECT id FROM members) AS isMember
    FROM $EVENTS[
        SELECT
            sessionId, profileId, deviceId, toString(name) AS name, toString(currency) AS currency, revenue,
            has(groups, {group:String}) AS isNamed
        WHERE $IN_SPAN$
            AND name NOT IN {synthetic:Array(String)}
            AND ($FILTER$)
    ]$ AS happened
    ANY LEFT JOIN $SPAN_PROFILES$ AS named USING (sessionId)
    WHERE isNamed OR isMember
)
