import { inRowHours, inSpan } from './time-texts.ts';

/** Sums over states of sessions. Rows that cancel each other add up to 0. */
export const SESSION_SUMS: string = `sum(sign) AS begun,
        sum(sign * (screenViews <= 1)) AS bounced,
        sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt))) AS lastedMs`;

/** The beginning of statements that rank sessions of row hours by two columns: `found` has the sessions with all of their states. */
export const RANKED_SESSIONS: string = `WITH
-- The newest states of the hot sessions replace everything in the store about these sessions; see seam.ts.
$IF_HOT$ hot AS $HOT_STATES$, $END_HOT$
found AS
(
    SELECT
        sign, screenViews, startedAt, endedAt, revenue[{currency:String}] AS amount, $COLUMNS$,
        $VISITOR$ AS visitor
    FROM sessions
    WHERE projectId = {site:String}
        AND ${inRowHours('startedAt')}
        AND ${inSpan('startedAt')}
        AND ($SESSION_FILTER$)
        $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
    $IF_HOT$
    UNION ALL
    -- Hot names become LowCardinality like the stored ones, so that the union keeps its dictionaries.
    SELECT
        sign, screenViews, startedAt, endedAt, revenue[{currency:String}] AS amount, prefix, toLowCardinality(name) AS name,
        $VISITOR$ AS visitor
    FROM (SELECT *, $COLUMNS$ FROM hot)
    WHERE ${inSpan('startedAt')}
        AND ($SESSION_FILTER$)
    $END_HOT$
)`;

/** These sessions by the two columns, with the visitors of each row. */
export const RANKED_ROWS: string = `(
    SELECT
        prefix,
        name,
        sum(begun) AS sessions,
        sum(viewed) AS pageviews,
        sum(bounced) AS bounces,
        sum(lastedMs) AS durationMs,
        sum(earned) AS amount,
        groupArrayIf(visitor, visitor != 0 AND begun > 0) AS visitorHashes
    FROM
    (
        SELECT
            prefix,
            name,
            visitor,
            sum(sign * screenViews) AS viewed,
            sum(sign * toInt128(amount)) AS earned,
            ${SESSION_SUMS}
        FROM found
        GROUP BY prefix, name, visitor
    )
    GROUP BY prefix, name
)`;

/** For pages: the sessions that began in the span, by their entry page. The statement has the hot states as `hot`. */
export const ENTERED: string = `entered AS
(
    SELECT entryOrigin AS origin, entryPath AS path, ${SESSION_SUMS}
    FROM
    (
        SELECT sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
        FROM sessions
        WHERE projectId = {site:String}
            AND ${inSpan('startedAt')}
            AND ($SESSION_FILTER$)
            $IF_HOT$ AND id NOT IN (SELECT id FROM hot) $END_HOT$
        $IF_HOT$
        UNION ALL
        SELECT sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
        FROM hot
        WHERE ${inSpan('startedAt')}
            AND ($SESSION_FILTER$)
        $END_HOT$
    )
    GROUP BY origin, path
)`;
