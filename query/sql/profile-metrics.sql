-- The sum of a profile's sessions, for people/profile-figures.ts, which computes the same for few sessions. `quarters`
-- are the quarters of an hour in which they began and ended, and one every 22 hours in between: no day of a time zone
-- is that short. The newest states of the hot sessions replace everything in the store about these sessions; see
-- seam.ts.
$IF_HOT$ WITH hot AS $HOT_STATES$ $END_HOT$
SELECT
    min(firstMs) AS firstSeenMs,
    max(lastMs) AS lastSeenMs,
    count() AS sessions,
    sum(views) AS screenViews,
    sum(others) AS otherEvents,
    sum(lastMs - firstMs) AS durationMs,
    -- By nearest rank, without interpolation between sessions.
    arraySort(groupArray(lastMs - firstMs))[toUInt64(intDiv(9 * count() + 9, 10))] AS p90Ms,
    countIf(views <= 1) AS bounces,
    max(firstMs) - min(firstMs) AS betweenMs,
    arraySort(groupUniqArrayArray(arrayPushBack(
        range(intDiv(firstMs, 900000), intDiv(lastMs, 900000), 88), intDiv(lastMs, 900000)))) AS quarters,
    mapApply((code, amount) -> (code, toString(amount)), sumMap(earned)) AS revenue
FROM
(
    SELECT
        toUnixTimestamp64Milli(state.3) AS firstMs,
        toUnixTimestamp64Milli(state.4) AS lastMs,
        toInt64(state.6) AS views,
        toInt64(state.7) AS others,
        CAST(state.5, 'Map(String, Int128)') AS earned
    FROM $STATES_OF_PROFILE$
)
