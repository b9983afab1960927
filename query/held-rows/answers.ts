import { HOUR_MS } from '../../infra/durations.ts';
import { byBytes } from '../rank-order.ts';
import type { AnswerRow, StatementName } from '../sql/answer-rows.ts';
import { Otherwise } from '../ways.ts';
import {
  activeUsers,
  eventNames,
  metricsEvents,
  metricsEventsRows,
  metricsFiltered,
  metricsSessions,
  metricsSessionsRows,
} from './figure-answers.ts';
import { heldFiltersOf, type RowTest, type SessionTest } from './held-filters.ts';
import { eventList, eventPieces, sessionList } from './list-answers.ts';
import type { ListedEvents } from './listed-events.ts';
import { type Bound, boundOf, type HeldStatement, type MemoryStatement } from './memory-statement.ts';
import { pages, pagesEntered, pagesRows, pageTitles, pageTitlesRows } from './page-answers.ts';
import { rankedSessions, rankingRows } from './ranked-answers.ts';
import type { SiteView } from './site-rows.ts';
import { rowsIn } from './walk.ts';

/** Answers from rows in memory, by name of the statement; undefined when it needs what is not in memory. */
type Answers = {
  readonly [Name in StatementName]?: (
    view: SiteView,
    statement: MemoryStatement,
  ) => AnswerRow<Name>[] | undefined;
};

/** A part of a site's rows that is held in memory, and the statements that it answers. */
export interface HeldPart {
  /** The part is all events of the site. */
  readonly isWhole: boolean;
  readonly answers: Answers;
  /**
   * The start of the events that a statement needs, and of the events to load if memory lacks them. Undefined when the
   * store must answer.
   */
  fromOf(
    statement: HeldStatement,
    nowMs: number,
  ): { readonly neededFromMs: number; readonly loadedFromMs: number } | undefined;
}

/** Everything of a small site. */
export const WHOLE_SITE: HeldPart = {
  isWhole: true,
  fromOf: () => ({ neededFromMs: 0, loadedFromMs: 0 }),
  // By name of the statement; each gives the rows of the store.
  answers: {
    'metrics-events': metricsEvents,
    'metrics-sessions': metricsSessions,
    'metrics-filtered': metricsFiltered,
    'active-users': activeUsers,
    'active-users-filtered': activeUsers,
    'event-list-pieces': eventPieces,
    'event-list': eventList,
    'session-list': sessionList,
    'event-names': (view, statement) =>
      pageOf(
        eventNames(view, statement).sort((a, b) => b.events - a.events || byBytes(a.word, b.word)),
        statement,
      ),
    breakdown: (view, statement) => pageOf(rankedSessions(view, statement), statement),
    'entry-exit': (view, statement) => pageOf(rankedSessions(view, statement), statement),
    pages: (view, statement) => pageOf(pages(view, statement), statement),
    // The titles in these rows are not used.
    'pages-filtered': (view, statement) => pageOf(pages(view, statement), statement),
    'page-titles': pageTitles,
    // Rollups would only cost another question. Without them, rows answer everything.
    'rollup-spans': () => [],
    'rollup-days': () => [],
  },
};

/** At least this many hours are loaded, so that the next question finds its hours, too: an hour is finalized three hours after its end. */
const RECENT_HOURS = 6;
/** Statements about older hours go to the store: after a late event, an hour is read from rows until it is rolled up again. */
const RECENT_HOURS_MAX = 12;

/** Statements that read the rows of a span, also its finalized hours. */
const OF_SPAN: Answers = {
  'event-list-pieces': eventPieces,
  'event-list': eventList,
  // Counts sessions for their list, too.
  'metrics-sessions': metricsSessions,
  'session-list': sessionList,
};

/**
 * The hours of a large site that are not finalized. Figures read rows for these and rollups for all others; lists begin
 * with the newest two.
 */
export const RECENT_HOURS_OF_SITE: HeldPart = {
  isWhole: false,
  fromOf: ({ name, parameters: { rowHours, from, previousFrom = from } }, nowMs) => {
    const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
    const recentFromMs = hourMs - RECENT_HOURS * HOUR_MS;
    if (Object.hasOwn(OF_SPAN, name)) {
      const neededFromMs = Math.min(Number(from), Number(previousFrom));
      return neededFromMs >= recentFromMs ? { neededFromMs, loadedFromMs: recentFromMs } : undefined;
    }
    if (!Array.isArray(rowHours) || rowHours.length === 0) return undefined;
    const neededFromMs = Number(rowHours[0]) * 1000;
    if (neededFromMs < hourMs - RECENT_HOURS_MAX * HOUR_MS) return undefined;
    return { neededFromMs, loadedFromMs: Math.min(neededFromMs, recentFromMs) };
  },
  answers: {
    ...OF_SPAN,
    'metrics-events-rows': metricsEventsRows,
    'metrics-sessions-rows': metricsSessionsRows,
    'pages-rows': pagesRows,
    'pages-entered': pagesEntered,
    'page-titles-rows': pageTitlesRows,
    'ranking-rows': rankingRows,
  },
};

/**
 * The store's rows for a statement, unless only the store can give them: filters that memory cannot read, or
 * events without a session whose filtered columns are not in memory.
 */
export function answerFrom<Name extends StatementName>(
  view: SiteView,
  statement: HeldStatement<Name>,
  { isWhole, answers }: HeldPart,
  listed: ListedEvents,
): AnswerRow<Name>[] | Otherwise {
  const { name, parameters, texts, filters = [] } = statement;
  const columns = texts?.columns ?? '';
  const isFiltered = texts?.events !== undefined || texts?.sessions !== undefined;
  // A condition's text cannot be tested here: without the filters, the store must answer.
  if (isFiltered && filters.length === 0) return new Otherwise('unknown-columns');
  let isUnknown = false;
  const held = heldFiltersOf(filters, view, () => {
    isUnknown = true;
  });
  // A session may have had the passing event long ago, which is not in memory.
  if (held === undefined || (held.event !== undefined && !isWhole)) return new Otherwise('unknown-columns');
  const bound = boundOf(parameters);
  const fitting = held.session && fittingSessions(view, held.session);
  const passes = (row: number) => {
    if (held.event?.(row) === false) return false;
    if (fitting === undefined) return true;
    const slot = view.events.session[row] ?? 0;
    // Without a session, an event is tested by its own columns, which are not all in memory.
    if (slot === 0 && !held.hasFacts) isUnknown = true;
    // A session that began long before is not in memory.
    if (!isWhole && Number.isNaN(view.sessions.startedAt[slot])) isUnknown = true;
    return fitting[slot] === 1;
  };
  const hasEvent = held.event && eventTestOfSessions(view, bound, held.event);
  const fits = (slot: number) =>
    (fitting === undefined || fitting[slot] === 1) && (hasEvent === undefined || hasEvent(slot));
  const rows = answers[name]?.(view, {
    bound,
    columns,
    listed: (id) => listed.get(parameters.site, columns, id),
    passes: held.event === undefined && fitting === undefined ? undefined : passes,
    fits,
  });
  return isUnknown || rows === undefined ? new Otherwise('unknown-columns') : rows;
}

/** By slot, 1 for a session that fits. Walking the slots in order is faster than following the events. */
function fittingSessions({ sessions: { startedAt, length } }: SiteView, fits: SessionTest): Uint8Array {
  const fitting = new Uint8Array(length);
  for (let slot = 0; slot < length; slot += 1)
    if (!Number.isNaN(startedAt[slot]) && fits(slot)) fitting[slot] = 1;
  return fitting;
}

/** A session has a passing event in the span in which it began; see `filters/insight-conditions.ts`. */
function eventTestOfSessions(
  view: SiteView,
  { heldFrom = 0, heldTo = 0, heldPreviousFrom = 0, heldPreviousTo = 0 }: Bound,
  passes: RowTest,
): SessionTest {
  const { session, isSynthetic } = view.events;
  const { startedAt, length } = view.sessions;
  const sessionsIn = (fromMs: number, toMs: number) => {
    const found = new Uint8Array(length);
    for (const row of rowsIn(view, { fromMs, toMs }))
      if (isSynthetic[row] === 0 && passes(row)) found[session[row] ?? 0] = 1;
    return found;
  };
  const current = once(() => sessionsIn(heldFrom, heldTo));
  const previous = once(() => sessionsIn(heldPreviousFrom, heldPreviousTo));
  return (slot) => ((startedAt[slot] ?? 0) >= heldFrom ? current() : previous())[slot] === 1;
}

/** Makes a value on first use: not every statement needs both spans. */
function once(make: () => Uint8Array): () => Uint8Array {
  let made: Uint8Array | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function pageOf<Row>(rows: Row[] | undefined, { bound }: MemoryStatement): Row[] | undefined {
  const { offset = 0, limit = 0 } = bound;
  return rows?.slice(offset, offset + limit);
}
