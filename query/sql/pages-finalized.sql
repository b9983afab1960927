-- What the sums of days and hours say of the pages whose paths are named, or of every page, to be kept: with who saw them,
-- as long as those are few. `reaching` are sessions that reach beyond an hour or a day. See rollups/kept.ts.
SELECT
    * EXCEPT (keptSessions, keptVisitors, everySession, everyVisitor),
    $HASHES(keptSessions)$ AS sessionHashes,
    $HASHES(keptVisitors)$ AS visitorHashes
FROM
(
    SELECT
        *,
        length(everySession) AS reaching,
        length(everyVisitor) AS visitors,
        sum(reaching + visitors) OVER () <= {hashesMax:UInt64} AS isKept,
        if(isKept, everySession, []) AS keptSessions,
        if(isKept, everyVisitor, []) AS keptVisitors
    FROM
    (
        SELECT
            origin,
            path,
            maxIf(at, lastTitle != '') AS titleAt,
            argMaxIf(lastTitle, at, lastTitle != '') AS title,
            sum(viewed) AS pageviews,
            toString(sum(earned)) AS revenue,
            sum(begun) AS entries,
            sum(bounced) AS bounces,
            sum(lastedMs) AS durationMs,
            sum(within) AS sessionsWithin,
            groupUniqArrayArray($SETTLED_HASHES_MAX$)(sessionHashes) AS everySession,
            groupUniqArrayArray($SETTLED_HASHES_MAX$)(visitorHashes) AS everyVisitor
        FROM $PAGE_SUMS$
        GROUP BY origin, path
    )
)
