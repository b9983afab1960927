import { partSums, SESSION_FIGURES, type SessionFigure, sessionSums } from '../../processor/figures.ts';
import { COUNTS_VISITOR, IS_REQUESTED } from './session-texts.ts';
import { BY_INDEX, inRowHours, inSpan } from './time-texts.ts';

/**
 * The statements that rank sessions by two columns, `prefix` and `name` (the text for `$COLUMNS$`): a dimension and its parent, or an entry
 * or exit page.
 *
 * They add up the same figures from every place that has sessions: rows of a whole span, rows of its row hours, and rollups of days. A
 * session's visitor may become known later, so a visitor counts if the states with this visitor add up to at least one session. Visitors are
 * compared by hashes; 0 means no visitor.
 */

const PAID = 'revenue[{currency:String}]';
const SUMS: readonly SessionFigure[] = [
  ...SESSION_FIGURES,
  { name: 'pageviews', part: 'viewed', state: 'sign * screenViews' },
];
/** The figures of a row, besides visitors. `amount` is its revenue in `currency`: an Int128, which JSON would round. */
const FIGURES: readonly SessionFigure[] = [
  ...SUMS,
  { name: 'amount', part: 'earned', state: 'sign * toInt128(paid)' },
];
const PARTS_OF_ROLLUPS = [...SUMS.map(({ part }) => part), `toInt128(${PAID}) AS earned`].join(', ');
/** The columns that these figures need. */
const SUMMED = `sign, screenViews, startedAt, endedAt, ${PAID} AS paid`;
const NAMES_AS_PARTS = FIGURES.map(({ name, part }) => `${name} AS ${part}`).join(', ');
/** The columns of an answer. */
const SHOWN = '* EXCEPT (amount), toString(amount) AS revenue';

const ORDER = 'ORDER BY sessions DESC, name, prefix';
const PAGE = 'LIMIT {limit:UInt64} OFFSET {offset:UInt64}';
const VISITORS = `countIf(${COUNTS_VISITOR}) AS visitors`;
const VISITOR_HASHES = `groupArrayIf(visitor, ${COUNTS_VISITOR}) AS visitorHashes`;

/** The sessions that began in the span, or in its row hours, with all of their states. Rows of row hours have visitors as rollups have them. */
function found(hours: 'all' | 'row-hours', columns = SUMMED): string {
  const [visitor, stored] =
    hours === 'all' ? ['$WHOLE_VISITOR$', ''] : ['$VISITOR$', `STORED WHERE ${inRowHours('startedAt')}`];
  return `found AS $SESSIONS[
    SELECT ${columns}, $COLUMNS$, ${visitor} AS visitor
    WHERE ${inSpan('startedAt')}
        AND ($SESSION_FILTER$)
    ${stored}
]$`;
}

/** These sessions by the two columns, with `visitors` of each row. */
function rowsOfFound(visitors: string, condition = '1'): string {
  return `SELECT prefix, name, ${partSums('name', FIGURES)}, ${visitors}
    FROM
    (
        SELECT prefix, name, visitor, ${sessionSums('part', undefined, FIGURES)}
        FROM found
        WHERE ${condition}
        GROUP BY prefix, name, visitor
    )
    GROUP BY prefix, name`;
}

/** The names of the rows of a page, so that visitors are counted only for these. */
const RANKED = `ranked AS
(
    SELECT prefix, name
    FROM found
    GROUP BY prefix, name
    HAVING sum(sign) > 0
    ORDER BY sum(sign) DESC, name, prefix
    ${PAGE}
)`;

/** Conditions on rollups or finalized sessions: the row is one of the named ones, which may be others, too. */
const IS_RANKED = 'prefix IN {prefixes:Array(String)} AND name IN {names:Array(String)}';
const OF_DAYS = 'FROM $ROLLUP_TABLE$ WHERE projectId = {site:String} AND $ROLLUP_DAYS$';
const FINALIZED = `FROM sessions
WHERE projectId = {site:String}
    AND ${inSpan('startedAt')}
    AND NOT ${inRowHours('startedAt')}
    AND ($SESSION_FILTER$)`;

/** By name of the statement. */
export const RANKED_SESSIONS: Readonly<Record<string, string>> = {
  /** A page of the rows of a span. */
  breakdown: `WITH ${found('all')}
SELECT ${SHOWN}
FROM (${rowsOfFound(VISITORS)})
WHERE sessions > 0
${ORDER}
${PAGE}`,

  /** The same where most rows have few sessions. */
  'entry-exit': `WITH ${found('all')}, ${RANKED}
SELECT ${SHOWN}
FROM (${rowsOfFound(VISITORS, '(prefix, name) IN (SELECT prefix, name FROM ranked)')})
WHERE sessions > 0
${ORDER}`,

  /** A page of rows without filters: of the selected days from rollups, of all other hours from rows. */
  'breakdown-rollup': `WITH ${found('row-hours')}
SELECT ${SHOWN}
FROM
(
    SELECT prefix, name, ${partSums('name', FIGURES)}, uniqExactArray(visitorHashes) AS visitors
    FROM
    (
        SELECT $COLUMNS$, ${PARTS_OF_ROLLUPS}, visitors AS visitorHashes
        ${OF_DAYS}
        UNION ALL
        SELECT prefix, name, ${NAMES_AS_PARTS}, visitorHashes
        FROM (${rowsOfFound(VISITOR_HASHES)})
    )
    GROUP BY prefix, name
)
WHERE sessions > 0
${ORDER}
${PAGE}
${BY_INDEX}`,

  /** All rows of the row hours, with their visitors. */
  'ranking-rows': `WITH ${found('row-hours')}
SELECT ${SHOWN}
FROM (${rowsOfFound(VISITOR_HASHES)})
${BY_INDEX}`,

  /** For the cache: all rows of a span without its row hours, and without visitors, which are counted for requested rows. */
  'ranking-finalized': `SELECT ${SHOWN}
FROM
(
    WITH ${PAID} AS paid
    SELECT $COLUMNS$, ${sessionSums('name', undefined, FIGURES)}
    ${FINALIZED}
    GROUP BY prefix, name
)
WHERE sessions > 0
LIMIT {most:UInt32}`,

  /** The same without filters, from rollups of the selected days. */
  'ranking-rollup': `SELECT ${SHOWN}
FROM
(
    SELECT prefix, name, ${partSums('name', FIGURES)}
    FROM (SELECT $COLUMNS$, ${PARTS_OF_ROLLUPS} ${OF_DAYS})
    GROUP BY prefix, name
)
WHERE sessions > 0
LIMIT {most:UInt32}`,

  /** The number of visitors of named rows of `ranking-finalized`, and the given visitors among them; with `isAsked`, only the latter. */
  'ranking-visitors': `SELECT prefix, name, count() AS visitors, groupArrayIf(visitor, visitor IN {asked:Array(UInt64)}) AS found
FROM
(
    SELECT $COLUMNS$, $VISITOR$ AS visitor
    ${FINALIZED}
        AND ${IS_RANKED}
        AND $IS_ASKED$
    GROUP BY prefix, name, visitor
    HAVING visitor != 0 AND sum(sign) > 0
)
GROUP BY prefix, name`,

  /** The same for `ranking-rollup`. */
  'ranking-visitors-rollup': `SELECT
    prefix,
    name,
    uniqExact(visitor) AS visitors,
    groupUniqArrayIf(visitor, visitor IN {asked:Array(UInt64)}) AS found
FROM
(
    SELECT $COLUMNS$, arrayJoin(visitors) AS visitor
    ${OF_DAYS}
        AND ${IS_RANKED}
)
WHERE $IS_ASKED$
GROUP BY prefix, name`,

  /** The sessions of named rows that reached a goal: it is part of the condition on sessions. */
  conversions: `WITH ${found('all', 'sign')}
SELECT prefix, name, sum(begun) AS conversions, ${VISITORS}
FROM
(
    SELECT toString(prefix) AS prefix, toString(name) AS name, visitor, sum(sign) AS begun
    FROM found
    GROUP BY prefix, name, visitor
)
WHERE ${IS_REQUESTED}
GROUP BY prefix, name
HAVING conversions > 0`,
};
