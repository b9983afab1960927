-- Screen views, visitors and revenue of two spans of time, and of each bucket of the current one. A bucket is named by
-- its first millisecond; `edges` has all buckets and the previous span.
WITH found AS $EVENTS[
    SELECT
        createdAt, revenue, currency, sessionId, profileId, deviceId,
        name = {screenView:String} AS isScreenView,
        name IN {synthetic:Array(String)} AS isSynthetic
    WHERE $IN_SPANS$
        AND ($FILTER$)
]$
SELECT
    isCurrent,
    grouping(edge) AS isTotal,
    edge,
    sum(screenViews) AS screenViews,
    uniqExactIfMerge(visitors) AS visitors,
    mapApply((code, amount) -> (code, toString(amount)), sumMap(revenue)) AS revenue
FROM
(
    SELECT
        isCurrent,
        edge,
        countIf(isScreenView) AS screenViews,
        uniqExactIfState(visitor, visitor != '' AND NOT isSynthetic) AS visitors,
        sumMapIf(map(currency, toInt128(revenue)), revenue != 0) AS revenue
    FROM
    (
        SELECT
            isScreenView, isSynthetic, revenue, currency,
            $EVENT_VISITOR$ AS visitor,
            createdAt >= fromUnixTimestamp64Milli({from:Int64}) AS isCurrent,
            roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge
        FROM found
        ANY LEFT JOIN $SPANS_PROFILES$ AS named USING (sessionId)
    )
    GROUP BY isCurrent, edge
)
-- The total merges the buckets' visitor sets, so every event is read once.
GROUP BY GROUPING SETS ((isCurrent), (isCurrent, edge))
