import { activeUsers, eventNames, metricsEvents, metricsSessions } from './figure-answers.ts';
import { eventList, eventPieces, sessionList } from './list-answers.ts';
import type { ListedEvents } from './listed-events.ts';
import type { Bound, HeldStatement, MemoryStatement } from './memory-statement.ts';
import { breakdown, entryExit, pages } from './ranked-answers.ts';
import { type StateTest, sessionTestOf } from './session-filter.ts';
import type { SiteView } from './site-rows.ts';
import { byBytes } from './walk.ts';

type RowsOf = (view: SiteView, statement: MemoryStatement) => object[] | undefined;

/** By the name of the statement: the same rows as those of the store. */
const ANSWERS: Readonly<Record<string, RowsOf>> = {
  'metrics-events': metricsEvents,
  'metrics-sessions': metricsSessions,
  'active-users': activeUsers,
  'event-list-pieces': eventPieces,
  'event-list': eventList,
  'session-list': sessionList,
  'event-names': (view, statement) =>
    pageOf(
      eventNames(view, statement).sort((a, b) => b.events - a.events || byBytes(a.word, b.word)),
      statement,
    ),
  breakdown: (view, statement) => pageOf(breakdown(view, statement), statement),
  'entry-exit': (view, statement) => pageOf(entryExit(view, statement), statement),
  pages: (view, statement) => pageOf(pages(view, statement), statement),
  // Where rows are in memory, rollups would only cost a question more. Without any, rows alone answer.
  'rollup-spans': () => [],
  'rollup-days': () => [],
};

/** Whether a statement of this name may be answered from rows in memory. */
export function isAnswered({ name }: HeldStatement): boolean {
  return Object.hasOwn(ANSWERS, name);
}

/**
 * The rows that the store would answer a statement with. Undefined where the store has to: filters that only it can read, and
 * filters where events without a session are tested by columns that are not in memory.
 */
export function answerFrom(
  view: SiteView,
  statement: HeldStatement,
  listed: ListedEvents,
): object[] | undefined {
  const { name, parameters, texts, filters = [] } = statement;
  const columns = texts?.columns ?? '';
  const isFiltered = texts?.events !== undefined || texts?.sessions !== undefined;
  // The text of a condition says nothing here: without the filters themselves, the store has to read it.
  if (isFiltered && filters.length === 0) return undefined;
  const fits = sessionTestOf(filters, view.texts);
  if (fits === undefined) return undefined;
  let isUnknown = false;
  const { session } = view.events;
  const fitting = filters.length === 0 ? undefined : fittingSessions(view, fits);
  const passes = (row: number) => {
    if (fitting === undefined) return true;
    const slot = session[row] ?? 0;
    if (slot === 0) isUnknown = true;
    return fitting[slot] === 1;
  };
  const bound = parameters as unknown as Bound;
  const rows = ANSWERS[name]?.(view, {
    bound,
    columns,
    listed: (id) => listed.get(parameters.site, columns, id),
    passes,
    fits,
  });
  return isUnknown ? undefined : rows;
}

/** By slot, 1 for a session that fits. One after the other they are found faster than in the order of their events. */
function fittingSessions({ sessions: { states } }: SiteView, fits: StateTest): Uint8Array {
  const fitting = new Uint8Array(states.length);
  for (let slot = 0; slot < states.length; slot += 1) {
    const state = states[slot];
    if (state !== undefined && fits(state)) fitting[slot] = 1;
  }
  return fitting;
}

function pageOf(rows: object[] | undefined, { bound }: MemoryStatement): object[] | undefined {
  const { offset = 0, limit = 0 } = bound;
  return rows?.slice(offset, offset + limit);
}
