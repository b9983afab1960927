-- Like active-users.sql, without filters: selected hours from rollups, all others from rows.
SELECT visit.1 AS day, least(visit.2 - visit.1, {windowMax:UInt16}) AS daysUntilNext, count() AS visitors
FROM
(
    SELECT arrayJoin(arrayZip(days, arrayPopFront(arrayPushBack(days, {never:UInt16})))) AS visit
    FROM
    (
        SELECT visitor, arraySort(groupUniqArray(toUInt16(indexOf({edges:Array(Int64)}, edge)))) AS days
        FROM
        (
            SELECT
                arrayJoin(visitors) AS visitor,
                roundDown(toInt64(toUnixTimestamp(hour)) * 1000, {edges:Array(Int64)}) AS edge
            FROM hourly_totals
            WHERE projectId = {site:String}
                AND $ROLLUP_HOURS$
            UNION ALL
            SELECT $EVENT_VISITOR_HASH$ AS visitor, edge
            FROM $EVENTS[
                SELECT
                    sessionId, profileId, deviceId,
                    roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge
                WHERE $IN_SPAN$
                    AND name NOT IN {synthetic:Array(String)}
                STORED WHERE $IN_ROW_HOURS$
            ]$ AS happened
            ANY LEFT JOIN $ROW_PROFILES$ AS named USING (sessionId)
            WHERE visitor != 0
        )
        GROUP BY visitor
    )
)
GROUP BY day, daysUntilNext
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
