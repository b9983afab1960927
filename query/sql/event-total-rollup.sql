-- The number of a site's events, of all names or of some: selected days from rollups, all other hours from rows.
SELECT sum(counted) AS events
FROM $NAMED_EVENTS$
WHERE empty({names:Array(String)}) OR has({names:Array(String)}, name)
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
