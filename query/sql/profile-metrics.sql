-- The sum of a profile's sessions, for people/profile-figures.ts, which computes the same for few sessions.
-- `quarters` are the quarters of an hour in which they began and ended, and one every 22 hours in between: no day
-- of a time zone is that short.
SELECT
    min(firstMs) AS firstSeenMs,
    max(lastMs) AS lastSeenMs,
    count() AS sessions,
    sum(views) AS screenViews,
    sum(others) AS otherEvents,
    sum(lengthMs) AS durationMs,
    -- By nearest rank, without interpolation between sessions.
    arraySort(groupArray(lengthMs))[toUInt64(intDiv(9 * count() + 9, 10))] AS p90Ms,
    countIf(isBounce) AS bounces,
    max(firstMs) - min(firstMs) AS betweenMs,
    arraySort(groupUniqArrayArray(arrayPushBack(
        range(intDiv(firstMs, 900000), intDiv(lastMs, 900000), 88), intDiv(lastMs, 900000)))) AS quarters,
    $SHOWN_AMOUNTS[sumMap(earned)]$ AS revenue
FROM
(
    SELECT
        toUnixTimestamp64Milli(startedAt) AS firstMs,
        toUnixTimestamp64Milli(endedAt) AS lastMs,
        $DURATION_MS$ AS lengthMs,
        toInt64(screenViews) AS views,
        $IS_BOUNCE$ AS isBounce,
        toInt64(otherEvents) AS others,
        CAST(revenue, 'Map(String, Int128)') AS earned
    FROM
    (
        SELECT state.3 AS startedAt, state.4 AS endedAt, state.5 AS revenue, state.6 AS screenViews, state.7 AS otherEvents
        FROM $STATES_OF_PROFILE$
    )
)
