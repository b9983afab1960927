-- The sessions that began in a span of time, by entry page or exit page, counted as in breakdown.sql. The requested
-- rows are cut before visitors are counted; page-titles.sql has the titles.
WITH found AS $SESSIONS[
    SELECT
        sign, screenViews, startedAt, endedAt, revenue[{currency:String}] AS amount, $COLUMNS$,
        $WHOLE_VISITOR$ AS visitor
    WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
]$,
ranked AS
(
    SELECT origin, path
    FROM found
    GROUP BY origin, path
    HAVING sum(sign) > 0
    ORDER BY sum(sign) DESC, path, origin
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
)
SELECT
    origin,
    path,
    sum(begun) AS sessions,
    sum(viewed) AS pageviews,
    countIf(visitor != 0 AND begun > 0) AS visitors,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs,
    toString(sum(earned)) AS revenue
FROM
(
    SELECT
        origin,
        path,
        visitor,
        sum(sign * screenViews) AS viewed,
        sum(sign * toInt128(amount)) AS earned,
        $SESSION_SUMS$
    FROM found
    WHERE (origin, path) IN (SELECT origin, path FROM ranked)
    GROUP BY origin, path, visitor
)
GROUP BY origin, path
HAVING sessions > 0
ORDER BY sessions DESC, path, origin
