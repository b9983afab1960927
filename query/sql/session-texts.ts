import { PART_NAMES, sessionSums } from '../../processor/figures.ts';
import { inRowHours, inSpan } from './time-texts.ts';

/** Sums over states of sessions, to which statements add further rows. */
export const SESSION_SUMS: string = sessionSums(PART_NAMES);

/** The beginning of statements that rank sessions of row hours by two columns: `found` has the sessions with all of their states. */
export const RANKED_SESSIONS: string = `WITH found AS $SESSIONS[
    SELECT
        sign, screenViews, startedAt, endedAt, revenue[{currency:String}] AS amount, $COLUMNS$,
        $VISITOR$ AS visitor
    WHERE ${inSpan('startedAt')}
        AND ($SESSION_FILTER$)
    STORED WHERE ${inRowHours('startedAt')}
]$`;

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

/** For pages: the sessions that began in the span, by their entry page. */
export const ENTERED: string = `entered AS
(
    SELECT entryOrigin AS origin, entryPath AS path, ${SESSION_SUMS}
    FROM $SESSIONS[
        SELECT sign, screenViews, startedAt, endedAt, entryOrigin, entryPath
        WHERE ${inSpan('startedAt')}
            AND ($SESSION_FILTER$)
    ]$
    GROUP BY origin, path
)`;
