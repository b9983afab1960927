-- As breakdown.sql without filters: selected days from their rollups, all other hours from rows.
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
    $END_HOT$
)
SELECT
    prefix,
    name,
    sum(begun) AS sessions,
    sum(viewed) AS pageviews,
    uniqExactArray(visitorHashes) AS visitors,
    sum(bounced) AS bounces,
    sum(lastedMs) AS durationMs,
    toString(sum(earned)) AS revenue
FROM
(
    SELECT
        $COLUMNS$, begun, viewed, bounced, lastedMs, revenue[{currency:String}] AS earned, visitors AS visitorHashes
    FROM $ROLLUP_TABLE$
    WHERE projectId = {site:String}
        AND $ROLLUP_DAYS$
    UNION ALL
    SELECT
        prefix, name,
        sum(ofVisitor.1) AS begun, sum(ofVisitor.2) AS viewed, sum(ofVisitor.3) AS bounced, sum(ofVisitor.4) AS lastedMs,
        sum(ofVisitor.5) AS earned,
        groupArrayIf(visitor, visitor != 0 AND ofVisitor.1 > 0) AS visitorHashes
    FROM
    (
        SELECT
            prefix,
            name,
            visitor,
            (
                sum(sign),
                sum(sign * screenViews),
                sum(sign * (screenViews <= 1)),
                sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt))),
                sum(sign * amount)
            ) AS ofVisitor
        FROM found
        GROUP BY prefix, name, visitor
    )
    GROUP BY prefix, name
)
GROUP BY prefix, name
HAVING sessions > 0
ORDER BY sessions DESC, name, prefix
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
-- The row hours are few, so the index finds them.
SETTINGS use_index_for_in_with_subqueries = 1
