-- The days on which the visitors in question visited, in sessions that pass the filters.
$PASSING_SESSIONS$
SELECT visitor, days
FROM $PASSING_DAYS$
-- The hours of sessions that reach over an edge are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
