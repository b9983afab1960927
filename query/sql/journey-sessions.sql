-- The sessions that may have events on one page of a journey; see people/journey.ts. Times are negated for a
-- journey that runs backwards, so that each session opens before it closes. Each session that closes behind the
-- position has an event behind it, so all events of the page lie before the last of the first `needed` closes.
WITH own AS
(
    SELECT
        lower(hex(state.1)) AS id,
        toUnixTimestamp64Milli(state.3) AS startedMs,
        toUnixTimestamp64Milli(state.4) AS endedMs,
        -- Credited events may have any time.
        toUnixTimestamp64Milli(state.5) != 0 AS isCredited,
        if({isForward:UInt8}, startedMs, -endedMs) AS opensMs,
        if({isForward:UInt8}, endedMs, -startedMs) AS closesMs
    FROM $STATES_OF_JOURNEY$
),
(
    SELECT arraySort(groupArrayIf(closesMs, closesMs > {behindMs:Int64})) AS closes FROM own
) AS closes
SELECT
    id, startedMs, endedMs, isCredited,
    if(length(closes) < {needed:UInt64}, {lastMs:Int64}, closes[{needed:UInt64}]) AS untilMs,
    toString(untilMs) AS until
FROM own
WHERE isCredited OR closesMs >= {behindMs:Int64} AND opensMs <= untilMs
ORDER BY opensMs, id
LIMIT {sessionsMax:UInt64}
