-- For the cache: the sessions that began in a span, except in its row hours, by two columns. Without visitors:
-- ranking-visitors.sql counts them for the requested rows.
SELECT
    $COLUMNS$,
    sum(sign * screenViews) AS pageviews,
    $SESSION_FIGURES$,
    toString(sum(sign * toInt128(revenue[{currency:String}]))) AS revenue
FROM sessions
WHERE $FINALIZED_SESSIONS$
GROUP BY prefix, name
HAVING sessions > 0
LIMIT {most:UInt32}
