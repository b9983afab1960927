import { rowEvents } from './event-texts.ts';
import { PASSING_SESSIONS, PASSING_VISITS } from './passing-texts.ts';
import { BUCKET_OF_HOUR, BY_INDEX, bucketOf, dayOf } from './time-texts.ts';

/**
 * The statements of `active_users`: the visitors of each day by the days until their next visit, `windowMax` for longer and for never. Sums
 * over these few rows are exact for every window of up to `windowMax` days (`insights/active-users.ts`). `edges` are the starts of days.
 */

const DAY = `${dayOf(bucketOf('createdAt'))} AS day`;
/** Visits in rollups of the selected hours. */
const ROLLUP_VISITS = `SELECT arrayJoin(visitors) AS visitor, ${dayOf(BUCKET_OF_HOUR)} AS day
    FROM hourly_totals
    WHERE projectId = {site:String} AND $ROLLUP_HOURS$`;

/** Each visitor's days, ascending. */
function daysOf(visits: string, condition = '1'): string {
  return `SELECT visitor, arraySort(groupUniqArray(day)) AS days
FROM (${visits})
WHERE ${condition}
GROUP BY visitor`;
}

function daysUntilNext(visits: string): string {
  return `SELECT visit.1 AS day, least(visit.2 - visit.1, {windowMax:UInt16}) AS daysUntilNext, count() AS visitors
FROM
(
    SELECT arrayJoin(arrayZip(days, arrayPopFront(arrayPushBack(days, {never:UInt16})))) AS visit
    FROM (${daysOf(visits)})
)
GROUP BY day, daysUntilNext`;
}

/** By name of the statement. */
export const VISIT_DAYS: Readonly<Record<string, string>> = {
  'active-users': daysUntilNext(`SELECT day, $JOINED_VISITOR$ AS visitor
    FROM $EVENTS[
        SELECT sessionId, $OWN_VISITOR$ AS ownVisitor, ${DAY}
        WHERE $IN_SPAN$
            AND name NOT IN {synthetic:Array(String)}
            AND ($FILTER$)
    ]$ AS happened
    ANY LEFT JOIN $SPAN_VISITORS$ AS named USING (sessionId)
    WHERE visitor != $NOBODY$`),

  /** Without filters: selected hours from rollups, all others from rows. */
  'active-users-rollup': `${daysUntilNext(`${ROLLUP_VISITS}
    UNION ALL
    SELECT visitor, day
    FROM ${rowEvents(DAY, 'one', 'name NOT IN {synthetic:Array(String)}')}
    WHERE visitor != 0`)}
${BY_INDEX}`,

  /** For the cache: without filters, only from rollups. */
  'active-users-finalized': daysUntilNext(ROLLUP_VISITS),

  /** The days of the given visitors in these rollups. */
  'active-users-members': daysOf(ROLLUP_VISITS, 'visitor IN {asked:Array(UInt64)}'),

  /** With filters only on sessions. */
  'active-users-filtered': `${PASSING_SESSIONS}
${daysUntilNext(PASSING_VISITS)}
${BY_INDEX}`,

  /** The days of the given visitors in the sessions that pass. */
  'active-users-filtered-members': `${PASSING_SESSIONS}
${daysOf(PASSING_VISITS)}
${BY_INDEX}`,
};
