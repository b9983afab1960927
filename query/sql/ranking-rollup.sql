-- Like ranking-finalized.sql, without filters, from the rollups of the selected days.
SELECT
    $COLUMNS$,
    sum(begun) AS sessions,
    sum(viewed) AS pageviews,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs,
    toString(sum(toInt128(revenue[{currency:String}]))) AS revenue
FROM $ROLLUP_TABLE$
WHERE projectId = {site:String} AND $ROLLUP_DAYS$
GROUP BY prefix, name
HAVING sessions > 0
LIMIT {most:UInt32}
