-- Like active-users.sql, with filters only on sessions.
$PASSING_SESSIONS$
SELECT visit.1 AS day, least(visit.2 - visit.1, {windowMax:UInt16}) AS daysUntilNext, count() AS visitors
FROM
(
    SELECT arrayJoin(arrayZip(days, arrayPopFront(arrayPushBack(days, {never:UInt16})))) AS visit
    FROM $PASSING_DAYS$
)
GROUP BY day, daysUntilNext
-- Sessions that cross an edge have few hours, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
