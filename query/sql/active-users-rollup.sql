-- Like active-users.sql, without filters: selected hours from rollups, all others from rows. The newest states of the
-- hot sessions replace everything in the store about these sessions; see seam.ts.
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
            SELECT
                arrayJoin(visitors) AS visitor,
                roundDown(toInt64(toUnixTimestamp(hour)) * 1000, {edges:Array(Int64)}) AS edge
            FROM hourly_totals
            WHERE projectId = {site:String}
                AND $ROLLUP_HOURS$
            UNION ALL
            SELECT $EVENT_VISITOR_HASH$ AS visitor, edge
            FROM
            (
                SELECT
                    sessionId, profileId, deviceId,
                    roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge
                FROM events
                WHERE projectId = {site:String}
                    AND flushNumber <= {flushed:Array(UInt32)}[partition + 1]
                    AND toStartOfHour(createdAt) IN (SELECT toDateTime(arrayJoin({rowHours:Array(UInt32)}), 'UTC'))
                    AND $IN_SPAN$
                    AND name NOT IN {synthetic:Array(String)}
                $IF_HOT$
                UNION ALL
                SELECT
                    sessionId, profileId, deviceId,
                    roundDown(toUnixTimestamp64Milli(createdAt), {edges:Array(Int64)}) AS edge
                FROM $HOT_EVENTS$
                WHERE projectId = {site:String}
                    AND $IN_SPAN$
                    AND name NOT IN {synthetic:Array(String)}
                $END_HOT$
            ) AS happened
            ANY LEFT JOIN $ROW_PROFILES$ AS named USING (sessionId)
            WHERE visitor != 0
        )
        GROUP BY visitor
    )
)
GROUP BY day, daysUntilNext
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
