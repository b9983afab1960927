import { NAMES_ROLLUP } from '../../processor/rows.ts';
import { BY_INDEX } from './time-texts.ts';

/** The statements that count events by name. */

/** The number of events of each name, in parts: of the selected days, of the row hours, and hot. */
const IN_PARTS = `(
    SELECT name, events AS counted
    FROM ${NAMES_ROLLUP}
    WHERE projectId = {site:String} AND $ROLLUP_DAYS$
    UNION ALL
    SELECT name, count() AS counted
    FROM $EVENTS[
        SELECT name
        WHERE $IN_SPAN$
        STORED WHERE $IN_ROW_HOURS$
    ]$
    GROUP BY name
)`;

const PAGE = `GROUP BY word
ORDER BY events DESC, word
LIMIT {limit:UInt64} OFFSET {offset:UInt64}`;

/** By name of the statement. */
export const NAME_COUNTS: Readonly<Record<string, string>> = {
  'event-names': `SELECT name AS word, count() AS events
FROM $EVENTS[
    SELECT name
    WHERE $IN_SPAN$
        AND ($FILTER$)
]$
${PAGE}`,

  /** Without filters: selected days from rollups, all other hours from rows. */
  'event-names-rollup': `SELECT name AS word, sum(counted) AS events
FROM ${IN_PARTS}
${PAGE}
${BY_INDEX}`,

  /** The number of events of all names or of some. */
  'event-total-rollup': `SELECT sum(counted) AS events
FROM ${IN_PARTS}
WHERE empty({names:Array(String)}) OR has({names:Array(String)}, name)
${BY_INDEX}`,
};
