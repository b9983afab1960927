-- The sum of the visits of some profiles: their sessions, and events that name them outside of sessions. The newest
-- states of the hot sessions replace everything in the store about these sessions; see seam.ts.
$IF_HOT$ WITH hot AS $HOT_STATES$ $END_HOT$
SELECT
    profileId AS id,
    toUnixTimestamp64Milli(min(firstAt)) AS firstMs,
    toUnixTimestamp64Milli(max(lastAt)) AS lastMs,
    sum(begun) AS sessions,
    mapApply((code, amount) -> (code, toString(amount)), sumMap(earned)) AS revenue
FROM
(
    SELECT state.2 AS profileId, state.3 AS firstAt, state.4 AS lastAt, 1 AS begun,
        CAST(state.5, 'Map(String, Int128)') AS earned
    FROM $STATES_OF_IDS$
    UNION ALL
    SELECT profileId, createdAt AS firstAt, createdAt AS lastAt, 0 AS begun,
        map(toString(currency), toInt128(revenue)) AS earned
    FROM events
    WHERE projectId = {site:String}
        AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
        AND profileId IN {ids:Array(String)}
        AND $NAMED_ALONE$
    $IF_HOT$
    UNION ALL
    SELECT profileId, createdAt AS firstAt, createdAt AS lastAt, 0 AS begun,
        map(toString(currency), toInt128(revenue)) AS earned
    FROM $HOT_EVENTS$
    WHERE projectId = {site:String}
        AND profileId IN {ids:Array(String)}
        AND $NAMED_ALONE$
    $END_HOT$
)
GROUP BY profileId
