import { sessionSums } from '../../processor/figures.ts';
import { scannedSums } from './relations.ts';
import { inRowHours, inSpan } from './time-texts.ts';

/** Sums over states of sessions, to which statements add further rows. */
export const SESSION_SUMS: string = sessionSums('part');

/**
 * The condition on sums of sessions by visitor for which a visitor counts. A session's visitor may become known later: then its states with
 * the former visitor add up to nothing. 0 means no visitor.
 */
export const COUNTS_VISITOR = 'visitor != 0 AND begun > 0';

/** A condition on rows with `prefix` and `name`: they are named in the question. */
export const IS_REQUESTED = `(prefix, name) IN
(
    SELECT row.1, row.2
    FROM (SELECT arrayJoin(arrayZip({prefixes:Array(String)}, {names:Array(String)})) AS row)
)`;

/** Sessions of the row hours, added up by some keys. `columns` makes the keys. */
export function rowSessions(keys: string, columns: string, condition: string): string {
  return scannedSums({
    keys,
    columns: `screenViews, startedAt, endedAt, ${columns}`,
    where: condition,
    storedWhere: inRowHours('startedAt'),
    sums: sessionSums('part', 'NOT isMarker'),
  });
}

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
