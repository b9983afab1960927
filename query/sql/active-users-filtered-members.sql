-- The days on which the given visitors visited, in sessions that pass the filters.
$PASSING_SESSIONS$
SELECT visitor, days
FROM $PASSING_DAYS$
-- Sessions that cross an edge have few hours, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
