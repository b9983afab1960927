-- The visitors of a span by the day of their last event (`recency`, counted from 1), by their number of days
-- (`frequency`), and by their number of sessions (`sessions`, rounded down to one of `counts`). `edges` are the starts
-- of days. The newest states of the hot sessions replace everything in the store about these sessions; see seam.ts.
$IF_HOT$ WITH hot AS $HOT_STATES$ $END_HOT$
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
        FROM
        (
            SELECT
                sessionId, $OWN_VISITOR$ AS ownVisitor,
                roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge
            FROM events
            WHERE projectId = {site:String}
                AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
                AND $IN_SPAN$
                AND name NOT IN {synthetic:Array(String)}
                AND ($FILTER$)
            $IF_HOT$
            UNION ALL
            SELECT
                sessionId, $OWN_VISITOR$ AS ownVisitor,
                roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge
            FROM $HOT_EVENTS$
            WHERE projectId = {site:String}
                AND $IN_SPAN$
                AND name NOT IN {synthetic:Array(String)}
                AND ($HOT_FILTER$)
            $END_HOT$
        ) AS happened
        ANY LEFT JOIN $SPAN_VISITORS$ AS named USING (sessionId)
        WHERE visitor != $NOBODY$
    )
    GROUP BY visitor
)
GROUP BY kind, number
