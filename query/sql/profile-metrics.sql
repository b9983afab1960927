-- What the sessions of a profile and its events outside of sessions add up to. `quarters` are the quarters of an hour in which
-- the sessions and events began and ended, and one every 22 hours in between: no day of a time zone is as short.
-- The newest states of the hot sessions replace everything in the store about these sessions; see seam.ts.
$IF_HOT$ WITH hot AS $HOT_STATES$ $END_HOT$
SELECT
    min(firstMs) AS firstSeenMs,
    max(lastMs) AS lastSeenMs,
    sum(isSession) AS sessions,
    sum(views) AS screenViews,
    sum(others) AS otherEvents,
    sumIf(views + others, isSession) AS sessionEvents,
    sumIf(lastMs - firstMs, isSession) AS durationMs,
    -- By nearest rank: no interpolation between sessions.
    arraySort(groupArrayIf(lastMs - firstMs, isSession))[toUInt64(intDiv(9 * sum(isSession) + 9, 10))] AS p90Ms,
    countIf(isSession AND views <= 1) AS bounces,
    maxIf(firstMs, isSession) - minIf(firstMs, isSession) AS betweenMs,
    arraySort(groupUniqArrayArray(arrayPushBack(
        range(intDiv(firstMs, 900000), intDiv(lastMs, 900000), 88), intDiv(lastMs, 900000)))) AS quarters,
    mapApply((code, amount) -> (code, toString(amount)), sumMap(earned)) AS revenue
FROM
(
    SELECT
        1 AS isSession,
        toUnixTimestamp64Milli(state.3) AS firstMs,
        toUnixTimestamp64Milli(state.4) AS lastMs,
        toInt64(state.6) AS views,
        toInt64(state.7) AS others,
        state.5 AS earned
    FROM $STATES_OF_PROFILE$
    UNION ALL
    SELECT
        0 AS isSession,
        toUnixTimestamp64Milli(createdAt) AS firstMs,
        firstMs AS lastMs,
        toInt64(name = {screenView:String}) AS views,
        toInt64(name != {screenView:String}) AS others,
        map(toString(currency), revenue) AS earned
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND profileId = {profileId:String}
        AND $NAMED_ALONE$
    $IF_HOT$
    UNION ALL
    SELECT
        0 AS isSession,
        toUnixTimestamp64Milli(createdAt) AS firstMs,
        firstMs AS lastMs,
        toInt64(name = {screenView:String}) AS views,
        toInt64(name != {screenView:String}) AS others,
        map(toString(currency), revenue) AS earned
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND profileId = {profileId:String}
        AND $NAMED_ALONE$
    $END_HOT$
)
