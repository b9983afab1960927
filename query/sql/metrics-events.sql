-- What happened in two spans of time, each by itself, and the current one also by bucket: screen views, visitors and
-- revenue. A bucket goes by the name of its first millisecond; `edges` are those of all buckets, and of the previous
-- span.
WITH found AS
(
    SELECT
        createdAt, revenue, currency, profileId, deviceId,
        name = {screenView:String} AS isScreenView,
        name IN {synthetic:Array(String)} AS isSynthetic
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND (createdAt >= fromUnixTimestamp64Milli({from:Int64}) AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            OR createdAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND createdAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND ($FILTER$)
    UNION ALL
    SELECT
        createdAt, revenue, currency, profileId, deviceId,
        name = {screenView:String} AS isScreenView,
        name IN {synthetic:Array(String)} AS isSynthetic
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND (createdAt >= fromUnixTimestamp64Milli({from:Int64}) AND createdAt < fromUnixTimestamp64Milli({to:Int64})
            OR createdAt >= fromUnixTimestamp64Milli({previousFrom:Int64})
                AND createdAt < fromUnixTimestamp64Milli({previousTo:Int64}))
        AND ($HOT_FILTER$)
)
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
        sumMapIf(map(currency, revenue), revenue != 0) AS revenue
    FROM
    (
        SELECT
            isScreenView, isSynthetic, revenue, currency,
            if(profileId != '', profileId, deviceId) AS visitor,
            createdAt >= fromUnixTimestamp64Milli({from:Int64}) AS isCurrent,
            roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge
        FROM found
    )
    GROUP BY isCurrent, edge
)
-- The sets of visitors of the buckets are united for the total: every event is looked at once only.
GROUP BY GROUPING SETS ((isCurrent), (isCurrent, edge))
