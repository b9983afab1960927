-- The sessions that began in the row hours of a span, by two columns, with the visitors of each row.
$RANKED_SESSIONS$
SELECT * EXCEPT (amount), toString(amount) AS revenue
FROM $RANKED_ROWS$
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
