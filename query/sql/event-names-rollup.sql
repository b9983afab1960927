-- Like event-names.sql, without filters: selected days from rollups, all other hours from rows.
SELECT name AS word, sum(counted) AS events
FROM $NAMED_EVENTS$
GROUP BY word
ORDER BY events DESC, word
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
