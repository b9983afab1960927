-- The visitors of each day, by the days until their next visit (windowMax for longer and for never). Sums over
-- these few rows are exact for every window of up to windowMax days; see insights/active-users.ts. `edges` are the
-- starts of days.
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
)
GROUP BY day, daysUntilNext
