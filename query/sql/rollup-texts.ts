import {
  bounceText,
  durationMsText,
  FIGURE_NAMES,
  PART_NAMES,
  sessionSums,
} from '../../processor/figures.ts';
import {
  EVENT_VISITOR,
  HASH_MASK,
  hashText,
  mixedInHours,
  NAMES_ROLLUP,
  profilesOfStates,
  SESSION_VISITOR,
  sessionVisitorHash,
} from '../../processor/rows.ts';
import {
  FIGURE_SUMS,
  PASSING_DAYS,
  PASSING_SESSIONS,
  PASSING_VIEWS,
  passingFigures,
} from './passing-texts.ts';
import { currentStates, GROUPS_WITH_MEMBERS, MEMBERS, NAMED_ALONE, ON_PAGE } from './people-texts.ts';
import { scannedSums, sessions } from './relations.ts';
import { ENTERED, RANKED_ROWS, RANKED_SESSIONS, SESSION_SUMS } from './session-texts.ts';
import { inRowHours, inSpan, inSpans } from './time-texts.ts';
import { JOINED_VISITOR, NOBODY, OWN_VISITOR, visitorsOfSessions } from './visitor-texts.ts';

/** Factor of the block in a key. It leaves room for the number of an hour since 1970 until the year 2089. */
export const KEY_HOURS = 1_048_576n;
/** Maximum number of hashes, eight bytes each, in a cached answer from rollups. */
export const CACHED_HASHES_MAX = 1_000_000;
/** Maximum number of hashes that rows may add to a cached answer. Every answer carries them. */
export const ROW_HASHES_MAX = 100_000;

/** On rows of pages: with a requested path. */
const IS_NAMED = '({every:UInt8} OR path IN {paths:Array(String)})';

/**
 * The profiles of sessions that events in the two spans may need, and of the hot sessions. Join them by `sessionId`.
 */
export const SPANS_PROFILES: string = profilesOf(inMixedSpan('least({previousFrom:Int64}, {from:Int64})'));

/** The same for one span, from `from` to `to`. */
export const SPAN_PROFILES: string = profilesOf(inMixedSpan('{from:Int64}'));

/** Texts of the placeholders that statements over rollups share. A text may contain placeholders that come later in the list. */
const TEXTS: Readonly<Record<string, string>> = {
  $PASSING_SESSIONS$: PASSING_SESSIONS,
  $PASSING_DAYS$: PASSING_DAYS,
  $PASSING_VIEWS$: PASSING_VIEWS,
  $FIGURE_SUMS$: FIGURE_SUMS,
  $RANKED_SESSIONS$: RANKED_SESSIONS,
  $RANKED_ROWS$: RANKED_ROWS,
  $ENTERED$: ENTERED,
  $SESSION_SUMS$: SESSION_SUMS,
  /** The same, named as in answers. */
  $SESSION_FIGURES$: sessionSums(FIGURE_NAMES),
  $IS_BOUNCE$: bounceText(),
  $DURATION_MS$: durationMsText(),
  /** For `metrics`: events of the row hours, and hot events. */
  $ROW_EVENTS$: eventsOf('createdAt, revenue, currency, name', inSpans('createdAt')),
  /** For `metrics`: sessions that began in the row hours, by bucket. */
  $ROW_SESSIONS$: sessionsOf(
    'edge',
    'roundDown(toUnixTimestamp64Milli(startedAt), {edges:Array(Int64)}) AS edge',
    inSpans('startedAt'),
  ),
  /** For `pages`: events and sessions of the row hours. */
  $PAGE_EVENTS$: eventsOf(
    `origin, path, title, id, createdAt, name = {screenView:String} AS isScreenView, $SESSION$ AS session,
            if(currency = {currency:String}, revenue, 0) AS amount`,
    `${inSpan('createdAt')} AND (name = {screenView:String} OR revenue != 0)`,
  ),
  $PAGE_SESSIONS$: sessionsOf(
    'origin, path',
    'entryOrigin AS origin, entryPath AS path',
    `${inSpan('startedAt')} AND ({every:UInt8} OR entryPath IN {paths:Array(String)})`,
  ),
  /** Rollups of the requested pages, by days and hours. */
  $PAGE_ROLLUPS$: `(${pageRollups('day', 'daily_pages', '$ROLLUP_DAYS$')}
        UNION ALL${pageRollups('hour', 'hourly_pages', '$ROLLUP_HOURS$')}
    )`,
  /** A page in the cache, without its visitors and the sessions that exceed an hour or day. */
  $PAGE_SUMS$: `maxIf(at, lastTitle != '') AS titleAt,
            argMaxIf(lastTitle, at, lastTitle != '') AS title,
            sum(viewed) AS pageviews,
            toString(sum(earned)) AS revenue,
            sum(begun) AS entries,
            sum(bounced) AS bounces,
            sum(lastedMs) AS durationMs,
            sum(within) AS sessionsWithin`,
  $IS_NAMED$: IS_NAMED,
  /** Titles on the pages with the named paths: from all views in the span, or from views in its row hours. */
  $TITLED_VIEWS$: titledViews(''),
  $TITLED_ROW_VIEWS$: titledViews('STORED WHERE $IN_ROW_HOURS$'),
  /** The sums of the selected hours, by bucket. */
  $HOUR_SUMS$: `roundDown(toInt64(toUnixTimestamp(hour)) * 1000, {edges:Array(Int64)}) AS edge,
            sum(screenViews) AS viewed,
            sumMap(CAST(revenue, 'Map(String, Int128)')) AS earned,
            sum(begun) AS begun,
            sum(bounced) AS bounced,
            sum(lastedMs) AS lastedMs`,
  /** The number of events of each name, in parts: of the selected days, of the row hours, and hot. */
  $NAMED_EVENTS$: namedEvents(),
  /** The visitors of each selected hour, with the number of its day, counted from 1. */
  $ROLLUP_VISITS$: `(
        SELECT
            arrayJoin(visitors) AS visitor,
            toUInt16(indexOf({edges:Array(Int64)},
                roundDown(toInt64(toUnixTimestamp(hour)) * 1000, {edges:Array(Int64)}))) AS day
        FROM hourly_totals
        WHERE projectId = {site:String} AND $ROLLUP_HOURS$
    )`,
  /** A condition on sessions that began in the span, but not in its row hours. */
  $FINALIZED_SESSIONS$: `projectId = {site:String}
    AND ${inSpan('startedAt')}
    AND NOT ${inRowHours('startedAt')}
    AND ($SESSION_FILTER$)`,
  /** Conditions on finalized rows: candidates for the requested rows of a ranking, or for the given visitors. */
  $IS_RANKED$: 'prefix IN {prefixes:Array(String)} AND name IN {names:Array(String)}',
  $IS_ASKED$: '({isAsked:UInt8} = 0 OR visitor IN {asked:Array(UInt64)})',
  /** A condition on hourly rollups: the row is the rollup of a selected hour. */
  $ROLLUP_HOURS$: rollupText('hour', 'firstHour', 'lastHour', 'hourKeys'),
  /** The same for days. */
  $ROLLUP_DAYS$: rollupText('day', 'firstDay', 'lastDay', 'dayKeys'),
  $SPANS_PROFILES$: SPANS_PROFILES,
  /** For events in one span, from `from` to `to`. */
  $SPAN_PROFILES$: SPAN_PROFILES,
  /** The visitor of an event itself, the visitors of sessions to join it with, and the resulting visitor, as 16 bytes. */
  $OWN_VISITOR$: OWN_VISITOR,
  $SPAN_VISITORS$: visitorsOfSessions(SPAN_PROFILES),
  $JOINED_VISITOR$: JOINED_VISITOR,
  $NOBODY$: NOBODY,
  /**
   * The sessions that pass the filters and may have events in the span, with hashes of their ids and visitors. Join
   * them by `sessionId`. Every event of a session has its visitor.
   */
  $SPAN_PASSING$: `(
        SELECT id AS sessionId, sipHash64(id) AS session, argMaxIf(visitor, version, sign > 0) AS visitor
        FROM $SESSIONS[
            SELECT id, version, sign, $VISITOR$ AS visitor
            WHERE startedAt < fromUnixTimestamp64Milli({to:Int64})
                AND ($PASSING$)
            STORED WHERE touchedAt >= fromUnixTimestamp64Milli({touchedFrom:Int64})
        ]$
        GROUP BY id
        HAVING sum(sign) > 0
    )`,
  /** Like `$SPAN_PROFILES$` for events of the row hours. */
  $ROW_PROFILES$: profilesOf(...mixedInHours('{rowHours:Array(UInt32)}')),
  /** The visitor of an event with these profiles; empty for none. */
  $EVENT_VISITOR$: EVENT_VISITOR,
  /** The visitor of an event, hashed as in rollups; 0 for none. */
  $EVENT_VISITOR_HASH$: `if(${EVENT_VISITOR} = '', 0, ${hashText(EVENT_VISITOR)})`,
  /** The visitor of a session, hashed as in rollups; 0 for none. */
  $VISITOR$: sessionVisitorHash(),
  /** The same with all 64 bits, for statements that read no rollups. */
  $WHOLE_VISITOR$: sessionVisitorHash(`sipHash64(${SESSION_VISITOR})`),
  /** The session of an event, hashed as in rollups; 0 for none. */
  $SESSION$: `if(sessionId = toFixedString('', 16), 0, ${hashText('sessionId')})`,
  /** An event that names a profile outside of sessions. */
  $NAMED_ALONE$: NAMED_ALONE,
  /** The current sessions of some profiles, or of one, as tuples (`people-texts.ts`). */
  $STATES_OF_IDS$: currentStates('startedAt, endedAt, revenue', 'profileId IN {ids:Array(String)}'),
  $STATES_OF_PROFILE$: currentStates(
    'startedAt, endedAt, revenue, screenViews, otherEvents',
    'profileId = {profileId:String}',
  ),
  /** For a profile, or for the one session of a journey. */
  $STATES_OF_JOURNEY$: currentStates(
    'startedAt, endedAt, creditedAt',
    `({profileId:String} = '' OR profileId = {profileId:String})
            AND ({sessionId:String} = '' OR id = unhex({sessionId:String}))`,
  ),
  $MEMBERS$: MEMBERS,
  $GROUPS_WITH_MEMBERS$: GROUPS_WITH_MEMBERS,
  /** An event of one page of a journey. */
  $ON_PAGE$: ON_PAGE,
  /** An event in the span of the question. */
  $IN_SPAN$: inSpan('createdAt'),
  /** An event in one of the two spans. */
  $IN_SPANS$: inSpans('createdAt'),
  /** An event in one of the row hours. */
  $IN_ROW_HOURS$: inRowHours('createdAt'),
  // One more than the limit, so that an answer shows when it exceeds the limit.
  $CACHED_HASHES_MAX$: String(CACHED_HASHES_MAX + 1),
  $ROW_HASHES_MAX$: String(ROW_HASHES_MAX + 1),
};

/**
 * A statement of `sql/` with these texts. Also replaces `$HASHES(…)$` by the form that `rollups/rollup-cache.ts` reads,
 * `$SHORT_HASH(…)$` by hashes as in rollups, and `$PASSING_FIGURES(…)$` by figures with visitors in the state of an
 * aggregate.
 */
export function withRollupTexts(sql: string): string {
  const text = Object.entries(TEXTS).reduce(
    (made, [place, piece]) => made.replaceAll(place, () => piece),
    sql,
  );
  return text
    .replaceAll(/\$PASSING_FIGURES\((.+?)\)\$/g, (_, aggregate) => passingFigures(aggregate))
    .replaceAll(/\$SHORT_HASH\((.+?)\)\$/g, (_, hash) => `bitAnd(${hash}, ${HASH_MASK})`)
    .replaceAll(
      /\$HASHES\((\w+)\)\$/g,
      (_, hashes) =>
        `base64Encode(arrayStringConcat(arrayMap(hash -> reinterpretAsFixedString(toFloat64(hash)), arraySort(${hashes}))))`,
    );
}

/** A row is selected if its block and time are one of the keys. The bounds let the index skip the rest. */
function rollupText(start: string, first: string, last: string, keys: string): string {
  return [
    `${start} >= toDateTime({${first}:UInt32}, 'UTC') AND ${start} <= toDateTime({${last}:UInt32}, 'UTC')`,
    `toUInt128(block) * ${KEY_HOURS} + intDiv(toUnixTimestamp(${start}), 3600) IN {${keys}:Array(UInt128)}`,
  ].join(' AND ');
}

/** Events with their `visitor`. */
function eventsOf(columns: string, condition: string): string {
  return `(
        SELECT *, $EVENT_VISITOR_HASH$ AS visitor
        FROM $EVENTS[
            SELECT sessionId, profileId, deviceId, ${columns}
            WHERE ${condition}
            STORED WHERE $IN_ROW_HOURS$
        ]$ AS happened
        ANY LEFT JOIN $ROW_PROFILES$ AS named USING (sessionId)
    )`;
}

/** The profiles of mixed sessions: of stored ones that meet one of `conditions`, and of all hot ones. */
function profilesOf(...conditions: readonly string[]): string {
  return `(${profilesOfStates(
    sessions({
      columns: 'projectId, id, profileId, version, sign',
      where: 'mixed = 1',
      storedWhere: conditions,
    }),
  )})`;
}

/** Mixed sessions with events in a span that begins at `from`. */
function inMixedSpan(from: string): string {
  return `startedAt < fromUnixTimestamp64Milli({to:Int64}) AND mixedUntil >= fromUnixTimestamp64Milli(${from})`;
}

/** Sessions of the row hours added up by `keys`, which `columns` derive from a session. */
function sessionsOf(keys: string, columns: string, condition: string): string {
  return scannedSums({
    keys,
    columns: `screenViews, startedAt, endedAt, ${columns}`,
    where: condition,
    storedWhere: inRowHours('startedAt'),
    sums: sessionSums(PART_NAMES, 'NOT isMarker'),
  });
}

function namedEvents(): string {
  return `(
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
}

function titledViews(stored: string): string {
  return `$EVENTS[
        SELECT origin, path, title, createdAt, id
        WHERE $IN_SPAN$ AND name = {screenView:String} AND title != '' AND path IN {paths:Array(String)}
        ${stored}
    ]$`;
}

function pageRollups(start: string, table: string, condition: string): string {
  return `
        SELECT
            toUnixTimestamp(${start}) AS at, origin, path, title AS lastTitle, screenViews AS viewed,
            toInt128(revenue[{currency:String}]) AS earned, begun, bounced, lastedMs,
            sessionsWithin AS within, sessions AS sessionHashes, visitors AS visitorHashes
        FROM ${table}
        WHERE projectId = {site:String} AND ${condition} AND ${IS_NAMED}`;
}
