-- Like active-users.sql, without filters, from the rollups of the selected hours only.
SELECT visit.1 AS day, least(visit.2 - visit.1, {windowMax:UInt16}) AS daysUntilNext, count() AS visitors
FROM
(
    SELECT arrayJoin(arrayZip(days, arrayPopFront(arrayPushBack(days, {never:UInt16})))) AS visit
    FROM
    (
        SELECT visitor, arraySort(groupUniqArray(day)) AS days
        FROM $ROLLUP_VISITS$
        GROUP BY visitor
    )
)
GROUP BY day, daysUntilNext
