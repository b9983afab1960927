-- The visitors of a span by the day of their last event (`recency`, counted from 1), by their number of days
-- (`frequency`), and by their number of sessions (`sessions`, rounded down to one of `counts`). `edges` are the
-- starts of days.
SELECT figure.1 AS kind, figure.2 AS number, count() AS visitors
FROM
(
    SELECT arrayJoin([
        ('recency', toUInt64(indexOf({edges:Array(Int64)}, max(edge)))),
        ('frequency', uniqExact(edge)),
        ('sessions', toUInt64(roundDown(uniqExactIf(sessionId, sessionId != toFixedString('', 16)), {counts:Array(UInt64)})))
    ]) AS figure
    FROM
    (
        SELECT edge, sessionId, $JOINED_VISITOR$ AS visitor
        FROM $EVENTS[
            SELECT
                sessionId, $OWN_VISITOR$ AS ownVisitor,
                roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge
            WHERE $IN_SPAN$
                AND name NOT IN {synthetic:Array(String)}
                AND ($FILTER$)
        ]$ AS happened
        ANY LEFT JOIN $SPAN_VISITORS$ AS named USING (sessionId)
        WHERE visitor != $NOBODY$
    )
    GROUP BY visitor
)
GROUP BY kind, number
