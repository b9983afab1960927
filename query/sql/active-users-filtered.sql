-- As active-users.sql with filters on sessions alone.
$PASSING_SESSIONS$
SELECT visit.1 AS day, least(visit.2 - visit.1, {windowMax:UInt16}) AS daysUntilNext, count() AS visitors
FROM
(
    SELECT arrayJoin(arrayZip(days, arrayPopFront(arrayPushBack(days, {never:UInt16})))) AS visit
    FROM $PASSING_DAYS$
)
GROUP BY day, daysUntilNext
-- The hours of sessions that reach over an edge are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
