import { bounceText, durationMsText } from '../../processor/figures.ts';
import {
  EVENT_VISITOR,
  HASH_MASK,
  hashText,
  mixedInHours,
  profilesOfStates,
  SESSION_VISITOR,
  sessionVisitorHash,
} from '../../processor/rows.ts';
import { shownAmounts } from './event-texts.ts';
import { currentStates, NAMED_ALONE, ON_PAGE } from './people-texts.ts';
import { sessions } from './relations.ts';
import { inRowHours, inSpan, inSpans } from './time-texts.ts';
import { JOINED_VISITOR, NOBODY, OWN_VISITOR, visitorsOfSessions } from './visitor-texts.ts';

/** Factor of the block in a key. It leaves room for the number of an hour since 1970 until the year 2089. */
export const KEY_HOURS = 1_048_576n;
/** Maximum number of hashes, eight bytes each, in a cached answer from rollups. */
export const CACHED_HASHES_MAX = 1_000_000;
/** Maximum number of hashes that rows may add to a cached answer. Every answer carries them. */
export const ROW_HASHES_MAX = 100_000;

/**
 * The profiles of sessions that events in the two spans may need, and of the hot sessions. Join them by `sessionId`.
 */
export const SPANS_PROFILES: string = profilesOf(inMixedSpan('least({previousFrom:Int64}, {from:Int64})'));

/** The same for one span, from `from` to `to`. */
export const SPAN_PROFILES: string = profilesOf(inMixedSpan('{from:Int64}'));

/** Texts of the placeholders that statements over rollups share. A text may contain placeholders that come later in the list. */
const TEXTS: Readonly<Record<string, string>> = {
  $IS_BOUNCE$: bounceText(),
  $DURATION_MS$: durationMsText(),
  /** A condition on visitors: one of the given ones. */
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

/** Amounts by currency in an answer: `$SHOWN_AMOUNTS[revenue]$`. */
const SHOWN_AMOUNTS = /\$SHOWN_AMOUNTS\[([^\][$]*)\]\$/g;

/** A statement of `sql/` with these texts. */
export function withRollupTexts(sql: string): string {
  const shown = sql.replaceAll(SHOWN_AMOUNTS, (_whole, amounts: string) => shownAmounts(amounts));
  return Object.entries(TEXTS).reduce((made, [place, piece]) => made.replaceAll(place, () => piece), shown);
}

/** A hash as in rollups. */
export function shortHash(hash: string): string {
  return `bitAnd(${hash}, ${HASH_MASK})`;
}

/** A column of hashes in the form that `rollups/rollup-cache.ts` reads. */
export function sentHashes(hashes: string): string {
  return `base64Encode(arrayStringConcat(arrayMap(hash -> reinterpretAsFixedString(toFloat64(hash)), arraySort(${hashes}))))`;
}

/** A row is selected if its block and time are one of the keys. The bounds let the index skip the rest. */
function rollupText(start: string, first: string, last: string, keys: string): string {
  return [
    `${start} >= toDateTime({${first}:UInt32}, 'UTC') AND ${start} <= toDateTime({${last}:UInt32}, 'UTC')`,
    `toUInt128(block) * ${KEY_HOURS} + intDiv(toUnixTimestamp(${start}), 3600) IN {${keys}:Array(UInt128)}`,
  ].join(' AND ');
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
