-- The sessions that began in the row hours of a span, by two columns, with the visitors of each row.
WITH
-- The newest states of the hot sessions replace everything in the store about these sessions; see seam.ts.
$IF_HOT$ hot AS $HOT_STATES$, $END_HOT$
found AS
(
    SELECT
        sign, screenViews, startedAt, endedAt, revenue[{currency:String}] AS amount, $COLUMNS$,
        $VISITOR$ AS visitor
    FROM sessions
    WHERE projectId = {site:String}
        AND toStartOfHour(startedAt) IN (SELECT toDateTime(arrayJoin({rowHours:Array(UInt32)}), 'UTC'))
        AND startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
        $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
    $IF_HOT$
    UNION ALL
    -- Hot names become LowCardinality like the stored ones, so that the union keeps its dictionaries.
    SELECT
        sign, screenViews, startedAt, endedAt, revenue[{currency:String}] AS amount, prefix, toLowCardinality(name) AS name,
        $VISITOR$ AS visitor
    FROM (SELECT *, $COLUMNS$ FROM hot)
    WHERE startedAt >= fromUnixTimestamp64Milli({from:Int64})
        AND startedAt < fromUnixTimestamp64Milli({to:Int64})
        AND ($SESSION_FILTER$)
    $END_HOT$
)
SELECT
    prefix,
    name,
    sum(begun) AS sessions,
    sum(viewed) AS pageviews,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs,
    toString(sum(earned)) AS revenue,
    groupArrayIf(visitor, visitor != 0 AND begun > 0) AS visitorHashes
FROM
(
    SELECT
        prefix,
        name,
        visitor,
        sum(sign) AS begun,
        sum(sign * (screenViews <= 1)) AS bounced,
        sum(sign * screenViews) AS viewed,
        sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt))) AS lastedMs,
        sum(sign * amount) AS earned
    FROM found
    GROUP BY prefix, name, visitor
)
GROUP BY prefix, name
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
