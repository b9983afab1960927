-- The sum of the visits of some profiles: their sessions, and events that name them outside of sessions.
SELECT
    profileId AS id,
    toUnixTimestamp64Milli(min(firstAt)) AS firstMs,
    toUnixTimestamp64Milli(max(lastAt)) AS lastMs,
    sum(begun) AS sessions,
    $SHOWN_AMOUNTS[sumMap(earned)]$ AS revenue
FROM
(
    SELECT state.2 AS profileId, state.3 AS firstAt, state.4 AS lastAt, 1 AS begun,
        CAST(state.5, 'Map(String, Int128)') AS earned
    FROM $STATES_OF_IDS$
    UNION ALL
    $EVENTS[
        SELECT profileId, createdAt AS firstAt, createdAt AS lastAt, 0 AS begun,
            map(toString(currency), toInt128(revenue)) AS earned
        WHERE profileId IN {ids:Array(String)}
            AND $NAMED_ALONE$
    ]$
)
GROUP BY profileId
