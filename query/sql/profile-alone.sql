-- The sum of the events that name a profile outside of sessions, and the quarters of an hour in which they happened.
SELECT
    min(atMs) AS firstSeenMs,
    max(atMs) AS lastSeenMs,
    countIf(name = {screenView:String}) AS screenViews,
    countIf(name != {screenView:String}) AS otherEvents,
    groupUniqArray(intDiv(atMs, 900000)) AS quarters,
    $SHOWN_AMOUNTS[sumMap(map(toString(currency), toInt128(revenue)))]$ AS revenue
FROM $EVENTS[
    SELECT toUnixTimestamp64Milli(createdAt) AS atMs, name, currency, revenue
    WHERE profileId = {profileId:String}
        AND $NAMED_ALONE$
]$
