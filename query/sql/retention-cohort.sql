-- Visitors by the interval of their first event (a cohort, from 0), and the number of them that returned in each
-- interval from then on. The intervals of a visitor are bits of one number, so a visitor always takes 16 bytes; see
-- paths/retention-cohort.ts. `edges` are the starts of intervals. An empty name means every event that visitors
-- send.
SELECT
    cohort,
    sum(visitors) AS size,
    sumForEach(arrayMap(later -> visitors * bitTest(returns, later), range({intervals:UInt8}))) AS returned
FROM
(
    SELECT cohort, returns, count() AS visitors
    FROM
    (
        SELECT
            visitor,
            minIf(number, isFirst) AS cohort,
            bitShiftRight(groupBitOrIf(bitShiftLeft(toUInt64(1), number), isReturn), cohort) AS returns
        FROM
        (
            SELECT
                toUInt8(indexOf({edges:Array(Int64)}, edge) - 1) AS number,
                isFirst, isReturn,
                $JOINED_VISITOR$ AS visitor
            FROM $EVENTS[
                SELECT
                    sessionId, $OWN_VISITOR$ AS ownVisitor,
                    roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge,
                    if({firstEvent:String} = '', name NOT IN {synthetic:Array(String)}, name = {firstEvent:String}) AS isFirst,
                    if({event:String} = '', name NOT IN {synthetic:Array(String)}, name = {event:String}) AS isReturn
                WHERE $IN_SPAN$
                    AND (isFirst OR isReturn)
                    AND ($FILTER$)
            ]$ AS happened
            ANY LEFT JOIN $SPAN_VISITORS$ AS named USING (sessionId)
            WHERE visitor != $NOBODY$
        )
        GROUP BY visitor
        HAVING countIf(isFirst) > 0
    )
    GROUP BY cohort, returns
)
GROUP BY cohort
