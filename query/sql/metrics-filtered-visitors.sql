-- As metrics-filtered.sql in one span, by bucket alone, with the visitors themselves.
$PASSING_SESSIONS$
SELECT
    edge,
    sum(viewed) AS screenViews,
    groupUniqArrayIfMerge($ROW_HASHES_MAX$)(seen) AS visitorHashes,
    mapApply((code, amount) -> (code, toString(amount)), sumMap(earned)) AS revenue,
    sum(begun) AS sessions,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs
FROM
(
    SELECT
        edge,
        sum(sign * screenViews * isWhole) AS viewed,
        groupUniqArrayIfState($ROW_HASHES_MAX$)(visitor, isWhole AND visitor != 0 AND sign > 0) AS seen,
        sumMapIf(mapApply((code, amount) -> (code, sign * amount), revenue), isWhole AND notEmpty(revenue)) AS earned,
        sum(sign) AS begun,
        sum(sign * (screenViews <= 1)) AS bounced,
        sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt))) AS lastedMs
    FROM found
    WHERE isBegun
    GROUP BY edge, if(isWhole AND visitor IN (SELECT visitor FROM replaced), visitor, 0) AS alone
    HAVING alone = 0 OR begun > 0
    UNION ALL
    SELECT
        roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge,
        toInt64(countIf(name = {screenView:String})) AS viewed,
        groupUniqArrayIfState($ROW_HASHES_MAX$)(visitor, visitor != 0 AND name NOT IN {synthetic:Array(String)}) AS seen,
        sumMapIf(map(toString(currency), revenue), revenue != 0) AS earned,
        0 AS begun, 0 AS bounced, 0 AS lastedMs
    FROM happened
    GROUP BY edge
)
GROUP BY edge
-- The hours of sessions that reach over an edge are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
