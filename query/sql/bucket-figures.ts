import { NO_SESSION_PARTS, partSums, SESSION_PARTS, sessionSums } from '../../processor/figures.ts';
import { EVENT_COLUMNS, eventParts, rowEvents, shownAmounts } from './event-texts.ts';
import { PASSING_SESSIONS, passingFigures } from './passing-texts.ts';
import { sentHashes } from './rollup-texts.ts';
import { COUNTS_VISITOR, rowSessions } from './session-texts.ts';
import { BUCKET_OF_HOUR, BY_INDEX, bucketOf, inSpans, isCurrent } from './time-texts.ts';
import { combined } from './visitor-texts.ts';

/**
 * The statements of `metrics`: figures of a span by bucket and as a whole, and of the previous span as a whole. A bucket is named by its first
 * millisecond; `edges` has all buckets and the previous span.
 *
 * Each of them adds up the same parts, from one of four places: events of the whole spans, events of their row hours, rollups of hours, or
 * sessions that pass filters (`passing-texts.ts`). The parts are made by bucket, with visitors in the state of an aggregate (`seen`). Totals
 * merge these states, so every row is read once.
 */

const EVENT_SUMS = `sum(viewed) AS screenViews,
    ${shownAmounts('sumMap(earned)')} AS revenue`;
const ALL_SUMS = `${EVENT_SUMS}, ${partSums()}`;

/** Events of the two spans, with their visitor as text. */
const EVENTS = `(
    SELECT *, $EVENT_VISITOR$ AS visitor
    FROM $EVENTS[
        SELECT createdAt, sessionId, profileId, deviceId, ${EVENT_COLUMNS}
        WHERE $IN_SPANS$
            AND ($FILTER$)
    ]$ AS happened
    ANY LEFT JOIN $SPANS_PROFILES$ AS named USING (sessionId)
)`;
/** Events of the row hours, with their visitor as rollups have it. */
const ROW_EVENTS = rowEvents(`createdAt, ${EVENT_COLUMNS}`, 'two');
/** Rollups of the selected hours. */
const HOURS = `
    SELECT
        toInt64(toUnixTimestamp(hour)) * 1000 AS atMs, toInt64(screenViews) AS viewed, visitors,
        CAST(revenue, 'Map(String, Int128)') AS earned, ${SESSION_PARTS}
    FROM hourly_totals
    WHERE projectId = {site:String} AND $ROLLUP_HOURS$`;

/** The parts of hours: of rollups, or of rows with the same columns. */
function hourParts(aggregate: string): string {
  const seen = combined(aggregate, 'State');
  return `sum(viewed) AS viewed, sumMap(earned) AS earned, ${seen}(visitors) AS seen, ${partSums('part')}`;
}

const EDGE = `${bucketOf('createdAt')} AS edge`;
const EDGE_OF_HOURS = 'roundDown(atMs, {edges:Array(Int64)}) AS edge';

/** The totals of both spans, and of each bucket of them. */
function totalsOfSpans(parts: string, visitors: string, sums: string): string {
  return `SELECT isCurrent, grouping(edge) AS isTotal, edge, ${visitors} AS visitors, ${sums}
FROM ${parts}
GROUP BY GROUPING SETS ((isCurrent), (isCurrent, edge))`;
}

/** The buckets of one span, with their visitors. */
function buckets(parts: string, sums: string): string {
  return `SELECT edge, groupUniqArrayIfMerge($ROW_HASHES_MAX$)(seen) AS visitorHashes, ${sums}
FROM ${parts}
GROUP BY edge
${BY_INDEX}`;
}

/** The rollups of one span, as a whole and by bucket; `visitors` are columns. */
function totalsOfHours(aggregate: string, visitors: string): string {
  return `SELECT grouping(edge) AS isTotal, edge, ${visitors}, ${ALL_SUMS}
FROM
(
    SELECT ${EDGE_OF_HOURS}, ${hourParts(aggregate)}
    FROM (${HOURS})
    GROUP BY edge
)
GROUP BY GROUPING SETS ((), (edge))`;
}

/** By name of the statement. */
export const BUCKET_FIGURES: Readonly<Record<string, string>> = {
  /** Screen views, visitors and revenue. */
  'metrics-events': totalsOfSpans(
    `(
    SELECT
        ${isCurrent('createdAt')} AS isCurrent, ${EDGE},
        ${eventParts((condition) => `uniqExactIfState(visitor, ${condition}) AS seen`, "''")}
    FROM ${EVENTS}
    GROUP BY isCurrent, edge
)`,
    'uniqExactIfMerge(seen)',
    EVENT_SUMS,
  ),

  /** Sessions, bounces and durations, by bucket. */
  'metrics-sessions': `SELECT ${bucketOf('startedAt')} AS edge, ${sessionSums('name')}
FROM $SESSIONS[
    SELECT sign, screenViews, startedAt, endedAt
    WHERE ${inSpans('startedAt')}
        AND ($SESSION_FILTER$)
]$
GROUP BY edge`,

  /**
   * The figures of `metrics-events` without filters: of the selected hours from rollups, of all others from rows. Sessions, bounces and
   * durations only of rollups: `metrics-sessions-rows` has the others.
   */
  'metrics-events-rollup': `${totalsOfSpans(
    `(
    SELECT atMs >= {from:Int64} AS isCurrent, ${EDGE_OF_HOURS}, ${hourParts('uniqExactArray')}
    FROM
    (
        ${HOURS}
        UNION ALL
        SELECT
            ${bucketOf('createdAt')} AS atMs,
            ${eventParts((condition) => `groupUniqArrayIf(visitor, ${condition}) AS visitors`)},
            ${NO_SESSION_PARTS}
        FROM ${ROW_EVENTS}
        GROUP BY atMs
    )
    GROUP BY isCurrent, edge
)`,
    'uniqExactArrayMerge(seen)',
    ALL_SUMS,
  )}
${BY_INDEX}`,

  /** The events of the row hours, with up to one visitor more than the limit, to show when there are too many. */
  'metrics-events-rows': buckets(
    `(
    SELECT
        ${EDGE},
        ${eventParts((condition) => `groupUniqArrayIfState($ROW_HASHES_MAX$)(visitor, ${condition}) AS seen`)}
    FROM ${ROW_EVENTS}
    GROUP BY edge
)`,
    EVENT_SUMS,
  ),

  /** The sessions that began in the row hours. */
  'metrics-sessions-rows': `SELECT edge, ${partSums()}
FROM ${rowSessions('edge', `${bucketOf('startedAt')} AS edge`, inSpans('startedAt'))}
GROUP BY edge
${BY_INDEX}`,

  /** Everything, with filters only on sessions. */
  'metrics-filtered': `${PASSING_SESSIONS}
${totalsOfSpans(passingFigures('uniqExact'), 'uniqExactIfMerge(seen)', ALL_SUMS)}
${BY_INDEX}`,

  /** The same in one span, with up to one visitor more than the limit. */
  'metrics-filtered-visitors': `${PASSING_SESSIONS}
${buckets(passingFigures('groupUniqArray($ROW_HASHES_MAX$)'), ALL_SUMS)}`,

  /**
   * For the cache (`rollups/rollup-cache.ts`): everything from rollups, with the visitors of the span and of the buckets to which rows may add
   * some (`openEdges`), unless they are too many.
   */
  'metrics-finalized': `SELECT * EXCEPT (allVisitors, cached), ${sentHashes('cached')} AS hashes
FROM
(
    SELECT
        *,
        length(allVisitors) AS visitors,
        if((isTotal OR edge IN {openEdges:Array(Int64)}) AND visitors <= {hashesMax:UInt64}, allVisitors, []) AS cached
    FROM
    (
        ${totalsOfHours('groupUniqArrayArray($CACHED_HASHES_MAX$)', 'groupUniqArrayArrayMerge($CACHED_HASHES_MAX$)(seen) AS allVisitors')}
    )
)`,

  /** The same with only the number of visitors: for the previous span, the first question about a span, and too many visitors to cache. */
  'metrics-counted': totalsOfHours('uniqExactArray', "uniqExactArrayMerge(seen) AS visitors, '' AS hashes"),

  /** The given visitors that are in the rollups of a span: by open bucket, and for all other buckets together, with -1 as edge. */
  'metrics-members': `SELECT if(start IN {openEdges:Array(Int64)}, start, -1) AS edge, groupUniqArray(visitor) AS visitorHashes
FROM
(
    SELECT ${BUCKET_OF_HOUR} AS start, arrayJoin(visitors) AS visitor
    FROM hourly_totals
    WHERE projectId = {site:String} AND $ROLLUP_HOURS$
)
WHERE visitor IN {asked:Array(UInt64)}
GROUP BY edge`,

  /** The sessions that reached a goal in the span in which they began: the goal is part of the condition on sessions. */
  'metrics-conversions': `SELECT isCurrent, isTotal, edge, sum(begun) AS conversions, countIf(${COUNTS_VISITOR}) AS visitors
FROM
(
    SELECT isCurrent, edge, visitor, grouping(edge) AS isTotal, sum(sign) AS begun
    FROM $SESSIONS[
        SELECT sign, ${isCurrent('startedAt')} AS isCurrent, ${bucketOf('startedAt')} AS edge, $WHOLE_VISITOR$ AS visitor
        WHERE ${inSpans('startedAt')}
            AND ($SESSION_FILTER$)
    ]$
    GROUP BY GROUPING SETS ((isCurrent, visitor), (isCurrent, edge, visitor))
)
GROUP BY isCurrent, isTotal, edge`,
};
