import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { valueText } from '../export/chart-statement.ts';
import { eventConditions, insightConditions } from '../filters/insight-conditions.ts';
import type { Statement } from '../snapshot/statement.ts';
import { SPAN_PROFILES } from '../sql/rollup-texts.ts';
import { JOINED_VISITOR, NOBODY, OWN_VISITOR, visitorsOfSessions } from '../sql/visitor-texts.ts';
import type { Span } from '../time/range.ts';
import { ANY_STEP, type FunnelQuery } from './funnel-api.ts';

const HOUR_S = 3_600;
const SYNTHETIC = [SESSION_START, SESSION_END];
/** The answer comes in parts, so that each is short. */
const CHUNKS = 64;
/** A chunk returns the ids of unsure people up to this multiple of its even share of `unsureMax`. */
const CHUNK_SHARES = 4;

/** Leaves out events that are no step and do not count between steps. */
const COUNTS = "(mask != 0 OR label != '')";

interface PeopleText {
  /** A further column of the events. */
  readonly column: string;
  readonly rows: (needed: string) => string;
}

/** The user of a funnel as 16 bytes, from the events in `found`. An event without a user is ignored. */
const PEOPLE: Readonly<Record<FunnelQuery['groupBy'], PeopleText>> = {
  session_id: {
    column: '',
    rows: (needed) => `
        SELECT sessionId AS person, ${needed}
        FROM found
        WHERE person != ${NOBODY} AND ${COUNTS}`,
  },
  profile_id: {
    column: `, ${OWN_VISITOR} AS ownVisitor`,
    rows: (needed) => `
        SELECT ${JOINED_VISITOR} AS person, ${needed}
        FROM found
        ANY LEFT JOIN ${visitorsOfSessions(SPAN_PROFILES)} AS named USING (sessionId)
        WHERE person != ${NOBODY} AND ${COUNTS}`,
  },
};

/** The person is one of the given ones. */
const IS_ONE_OF_SOME = 'person IN (SELECT toFixedString(unhex(arrayJoin({people:Array(String)})), 16))';

/** The hours of some people's events, in which the index finds them. */
const SOME_HOURS = "toStartOfHour(createdAt) IN {hours:Array(DateTime('UTC'))}";

/**
 * The order of events in one number: the time since the range began, the id, and the mask. The store collects and sorts numbers
 * in about half of the time that tuples take: 720 instead of 1,319 ms for 600,000 events on a busy machine, the median of seven.
 */
const KEY = `bitOr(
        bitShiftLeft(toUInt256(toUnixTimestamp64Milli(createdAt) - {from:Int64}), 144),
        bitOr(bitShiftLeft(toUInt256(reinterpretAsUInt128(reverse(id))), 16), toUInt256(mask)))`;

/** The word of a key, computed for each person's events, because the store works on persons in parallel. */
const WORD_OF_KEY =
  'bitOr(bitOr(bitShiftLeft(toUInt64(bitShiftRight(key, 144)), 16), toUInt64(bitAnd(key, 65535))), 0x8000000000000000)';

/**
 * The time and the mask of an event, as 47 and 16 bits of a number. The highest bit is set, because the store drops zero bytes at
 * an end.
 */
const WORD = `bitOr(
        bitOr(bitShiftLeft(toUInt64(toUnixTimestamp64Milli(createdAt) - {from:Int64}), 16), toUInt64(mask)), 0x8000000000000000)`;

const timeOf = (word: string) => `bitShiftRight(${word}, 16)`;
const maskOf = (word: string) => `bitAnd(${word}, 65535)`;
const hourOf = (word: string) =>
  `toUInt32(intDiv({from:Int64} + toInt64(bitAnd(${timeOf(word)}, 0x7fffffffffff)), 3600000))`;

/**
 * Keeps only a person's events that a best run may use: nothing before the first event of step 1, and no later event
 * that is only step 1. If the last event is too late for the first start, later starts stay, because one of them may be
 * better.
 */
const NEEDED = `arrayFilter(
            word -> ${timeOf('word')} >= ${timeOf('start')} AND (
                ${maskOf('word')} != 1
                OR word = start
                OR ${timeOf('every[-1]')} - ${timeOf('start')} > {windowMs:UInt64}),
            every)`;

const EXACT_TOLD = `bitTest(groupBitOr(mask), 0) AS hasStart,
        bitTest(groupBitOr(mask), 1) AND maxIf(createdAt, bitTest(mask, 1)) >= minIf(createdAt, bitTest(mask, 0)) AS isTold`;
const WORDS_TOLD = `minIf(packed, bitTest(packed, 0)) AS start,
        start != 0 AS hasStart,
        ${timeOf('maxIf(packed, bitTest(packed, 1))')} >= ${timeOf('start')} AS isTold`;
const SURE = `0 AS isUnsure, CAST([], 'Array(UInt32)') AS hours`;
const UNLABELLED = `CAST([], 'Array(String)') AS labels, '' AS firstLabel`;
/** Different events of one time, whose ids decide which is first. */
const IS_TIED = `arrayExists(
            (word, next) -> word != next AND ${timeOf('word')} = ${timeOf('next')}, words, arrayShiftLeft(words, 1))`;

/**
 * The ways to read the events of people with an event of step 2 at or after one of step 1, as `words` and `labels` in
 * their order.
 *
 * - `labelled`: every event, with its label.
 * - `exact`: the events that a best run may have.
 * - `words`: like `exact`, without ids. A person with different events at one time is unsure.
 * - `starts`: like `words`, but of the events that are only step 1 it keeps the first, so most events are not
 *   collected. A person with an event too late for this start is unsure, too.
 */
const READINGS = {
  labelled: {
    order: `${KEY} AS key`,
    needed: 'createdAt, mask, key, label',
    figure: `${EXACT_TOLD},
        arraySort(if(isTold, groupArray((key, label)), [])) AS happened,
        arrayMap(key -> ${WORD_OF_KEY}, happened.1) AS words,
        happened.2 AS labels,
        argMinIf(label, key, bitTest(mask, 0)) AS firstLabel,
        ${SURE}`,
  },
  exact: {
    order: `${KEY} AS key`,
    needed: 'createdAt, mask, key',
    figure: `${EXACT_TOLD},
        arrayMap(key -> ${WORD_OF_KEY}, arraySort(if(isTold, groupArray(key), []))) AS every,
        arrayFirst(word -> bitTest(word, 0), every) AS start,
        ${NEEDED} AS words,
        ${UNLABELLED},
        ${SURE}`,
  },
  words: {
    order: `${WORD} AS packed`,
    needed: 'packed',
    figure: `${WORDS_TOLD},
        arraySort(if(isTold, groupArray(packed), [])) AS every,
        ${NEEDED} AS words,
        ${UNLABELLED},
        ${IS_TIED} AS isUnsure,
        arrayDistinct(arrayMap(word -> ${hourOf('word')}, every)) AS hours`,
  },
  starts: {
    order: `${WORD} AS packed`,
    needed: 'packed',
    figure: `${WORDS_TOLD},
        arraySort(arrayFilter(
            word -> ${timeOf('word')} >= ${timeOf('start')},
            if(isTold, groupArrayIf(packed, ${maskOf('packed')} != 1), []))) AS others,
        if(isTold AND ${maskOf('start')} = 1, arrayPushFront(others, start), others) AS words,
        ${UNLABELLED},
        isTold AND (${timeOf('words[-1]')} - ${timeOf('start')} > {windowMs:UInt64} OR ${IS_TIED}) AS isUnsure,
        range(${hourOf('start')}, ${hourOf('words[-1]')} + 1) AS hours`,
  },
} as const;

export type FunnelReading = keyof typeof READINGS;

/** The first reading to try: without ids, unless the funnel needs labels of events. */
export function firstReading(
  { groupBy, windowHours, breakdown, between }: FunnelQuery,
  span: Span,
): FunnelReading {
  if (between || breakdown !== undefined) return 'labelled';
  const isNobodyLate = span.toMs - span.fromMs <= windowHours * HOUR_MS;
  // A session is seldom longer than a window, and a visitor's events often are.
  return isNobodyLate || groupBy === 'session_id' ? 'starts' : 'words';
}

/** Some people, in hexadecimal, and the hours of their events, since 1970. */
export interface SomePeople {
  readonly people: readonly string[];
  readonly hours: readonly number[];
}

/** Limits of a funnel in memory. */
export interface FunnelLimits {
  /** Events of people with an event of step 2 at the time of one of step 1 or later. */
  readonly eventsMax: number;
  /** Values of the breakdown. */
  readonly valuesMax: number;
  /** People who are read a second time with the ids of their events. If more are unsure, all are read again. */
  readonly unsureMax: number;
}

/** The statement that reads the people of a funnel, or some of them. */
export function funnelStatement(
  query: FunnelQuery,
  { site, span }: { readonly site: StoredId; readonly span: Span },
  {
    reading,
    some,
    limits: { eventsMax, valuesMax, unsureMax },
  }: {
    readonly reading: FunnelReading;
    readonly some?: SomePeople;
    readonly limits: FunnelLimits;
  },
): Statement<'funnel'> {
  const { steps, filters, breakdown, between, groupBy, windowHours } = query;
  const { parameters, ...conditions } = insightConditions(filters, { span });
  const ofSteps = steps.map((step, index) => eventConditions(step.filters, { span }, `step${index}_`));
  const { order, needed, figure } = READINGS[reading];
  const columns = (table: 'events' | 'hotEvents') => {
    const mask = maskText(
      query,
      ofSteps.map((one) => one[table]),
    );
    return `${mask} AS mask, ${order}, ${labelText(query)} AS label${PEOPLE[groupBy].column}`;
  };
  return {
    name: 'funnel',
    parameters: {
      ...parameters,
      ...Object.assign({}, ...ofSteps.map((one) => one.parameters)),
      ...Object.fromEntries(steps.map(({ name }, index) => [`stepName${index}`, name])),
      ...(breakdown?.kind === 'property' ? { breakdownKey0: breakdown.key } : {}),
      site,
      from: span.fromMs,
      to: span.toMs,
      stepNames: steps.map(({ name }) => name).filter((name) => name !== ANY_STEP),
      isEvery: between || steps.some(({ name }) => name === ANY_STEP) ? 1 : 0,
      synthetic: SYNTHETIC,
      isLabelled: reading === 'labelled' ? 1 : 0,
      windowMs: windowHours * HOUR_MS,
      chunks: CHUNKS,
      eventsMax,
      rowsMax: valuesMax + CHUNKS + 1,
      unsureMax: unsureOfChunkMax(unsureMax),
      ...(some === undefined ? {} : { people: some.people, hours: some.hours.map((hour) => hour * HOUR_S) }),
    },
    texts: {
      ...conditions,
      columns: columns('events'),
      hotColumns: columns('hotEvents'),
      ...(some === undefined ? {} : { inHours: SOME_HOURS }),
      rows: rowsText(groupBy, needed, some !== undefined),
      figure,
    },
    filters,
  };
}

/** Maximum number of unsure people in a chunk's answer. A chunk that reaches it may have more. */
export function unsureOfChunkMax(unsureMax: number): number {
  return Math.ceil((unsureMax * CHUNK_SHARES) / CHUNKS);
}

/** The events of users, of all or of some. */
function rowsText(groupBy: FunnelQuery['groupBy'], needed: string, areSome: boolean): string {
  const isOneOf = areSome ? ` AND ${IS_ONE_OF_SOME}` : '';
  return `(${PEOPLE[groupBy].rows(needed)}${isOneOf}\n    )`;
}

/** A bit for each step that an event may be. */
function maskText({ steps }: FunnelQuery, conditions: readonly string[]): string {
  const bits = steps.map(({ name }, index) => {
    const isNamed =
      name === ANY_STEP ? 'name NOT IN {synthetic:Array(String)}' : `name = {stepName${index}:String}`;
    return `if(${isNamed} AND (${conditions[index] ?? '1'}), ${2 ** index}, 0)`;
  });
  return `toUInt16(${bits.join(' + ')})`;
}

/**
 * The label of an event: the breakdown's value if it may be step 1, the event's name if it is no step, and empty if
 * neither is requested. `session_start` and `session_end` have no name as a label, because they do not count between
 * steps.
 */
function labelText({ breakdown, between }: FunnelQuery): string {
  const value = breakdown === undefined ? "''" : valueText(breakdown, 0);
  const name = between ? "if(name IN {synthetic:Array(String)}, '', CAST(name, 'String'))" : "''";
  return `multiIf(bitTest(mask, 0), ${value}, mask = 0, ${name}, '')`;
}
