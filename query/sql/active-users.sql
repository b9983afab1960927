-- The visitors of each day, by the days until their next visit (windowMax for longer and for never). Sums over these
-- few rows are exact for every window of up to windowMax days; see insights/active-users.ts. `edges` are the starts of
-- days. The newest states of the hot sessions replace everything in the store about these sessions; see seam.ts.
$IF_HOT$ WITH hot AS $HOT_STATES$ $END_HOT$
SELECT visit.1 AS day, least(visit.2 - visit.1, {windowMax:UInt16}) AS daysUntilNext, count() AS visitors
FROM
(
    SELECT arrayJoin(arrayZip(days, arrayPopFront(arrayPushBack(days, {never:UInt16})))) AS visit
    FROM
    (
        SELECT visitor, arraySort(groupUniqArray(toUInt16(indexOf({edges:Array(Int64)}, edge)))) AS days
        FROM
        (
            SELECT edge, $JOINED_VISITOR$ AS visitor
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
)
GROUP BY day, daysUntilNext
