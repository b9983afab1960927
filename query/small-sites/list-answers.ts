import type { MemoryStatement } from './memory-statement.ts';
import { type SessionState, wordOf } from './session-columns.ts';
import type { SiteView } from './site-rows.ts';
import { Buckets, eachSession, rowsIn } from './walk.ts';

/** `event-list-pieces.sql` */
export function eventPieces(view: SiteView, statement: MemoryStatement): object[] {
  const { edges, from, to } = statement.bound;
  const counts = new Map<number, number>();
  const buckets = new Buckets(edges);
  const isListed = listTestOf(view, statement);
  for (const row of rowsIn(view, { fromMs: from, toMs: to })) {
    if (!isListed(row)) continue;
    const bucket = buckets.of(view.events.at[row] ?? 0);
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
  }
  return [...counts].map(([bucket, count]) => ({ edge: edges[bucket], events: count }));
}

/** `event-list.sql`: one page, newest first, ties by id. Undefined when a row of it is not in memory. */
export function eventList(view: SiteView, statement: MemoryStatement): object[] | undefined {
  const { offset = 0, limit = 0 } = statement.bound;
  const { events } = view;
  const found = newestListed(view, statement, offset + limit);
  found.sort((a, b) => (events.at[b] ?? 0) - (events.at[a] ?? 0) || events.compareIds(a, b));
  const page: object[] = [];
  for (const row of found.slice(offset, offset + limit)) {
    const listed = statement.listed(events.idOf(row));
    if (listed === undefined) return undefined;
    page.push(listed);
  }
  return page;
}

/** The newest rows of a list, at least so many, and all of the time of the oldest one, because those rank by id. */
function newestListed(view: SiteView, statement: MemoryStatement, rowsMin: number): number[] {
  const { behindAt = 0, behindId = '', from, to } = statement.bound;
  const { events } = view;
  const isListed = listTestOf(view, statement);
  const behind = Buffer.alloc(16);
  behind.write(behindId, 'hex');
  const isBehindId = (row: number) =>
    behindId === '' || events.ids.compare(behind, 0, 16, row * 16, row * 16 + 16) > 0;
  const rows = rowsIn(view, { fromMs: from, toMs: to });
  const found: number[] = [];
  let oldestMs = Number.POSITIVE_INFINITY;
  for (let place = rows.length - 1; place >= 0; place -= 1) {
    const row = rows[place] ?? 0;
    const atMs = events.at[row] ?? 0;
    if (found.length >= rowsMin && atMs < oldestMs) break;
    if ((atMs >= behindAt && !isBehindId(row)) || !isListed(row)) continue;
    found.push(row);
    oldestMs = atMs;
  }
  return found;
}

/** Whether an event is in a list, apart from its time. */
function listTestOf({ events, sessions, texts }: SiteView, { bound, passes }: MemoryStatement) {
  const { names = [], profileId = '', sessionId = '' } = bound;
  const asked = new Set(names.map((name) => texts.words.find(name)));
  const profile = texts.visitors.find(profileId) ?? -1;
  const askedSession = sessionId.toLowerCase();
  return (row: number): boolean => {
    const isNamed = names.length === 0 ? events.isSynthetic[row] === 0 : asked.has(events.name[row]);
    if (!isNamed || (profileId !== '' && events.profile[row] !== profile)) return false;
    const isOfSession =
      sessionId === '' || hexOf(sessions.ids[events.session[row] ?? 0] ?? '') === askedSession;
    return isOfSession && passes(row);
  };
}

/** `session-list.sql`: one page, newest first, ties by id. */
export function sessionList(view: SiteView, statement: MemoryStatement): object[] | undefined {
  const { offset = 0, limit = 0 } = statement.bound;
  const writers = statement.columns.split(', ').map((column) => writerOf(view, column));
  if (writers.includes(undefined)) return undefined;
  return newestOf(listedSessions(view, statement), offset + limit)
    .slice(offset)
    .map((state) => {
      const row: Record<string, unknown> = {};
      for (const write of writers) write?.(row, state);
      return row;
    });
}

function listedSessions(view: SiteView, { bound, fits }: MemoryStatement): SessionState[] {
  const { profileId = '', behindAt = 0, behindId = '' } = bound;
  const profile = profileId === '' ? undefined : (view.texts.visitors.find(profileId) ?? -1);
  const behind = Buffer.from(behindId, 'hex').toString('latin1');
  const found: SessionState[] = [];
  eachSession(view, { fromMs: bound.from, toMs: bound.to }, (state, slot) => {
    if (profile !== undefined && state.profile !== profile) return;
    const isBehind = state.startedAt < behindAt || (state.startedAt === behindAt && state.id > behind);
    if (isBehind && fits(state, slot)) found.push(state);
  });
  return found;
}

/** The newest sessions, up to so many, ties by id. */
function newestOf(states: readonly SessionState[], statesMax: number): SessionState[] {
  if (statesMax === 0) return [];
  // Numbers sort much faster than objects, and only those that can be on the page have to be sorted.
  const times = Float64Array.from(states, ({ startedAt }) => startedAt).sort();
  const oldestMs = times[times.length - statesMax] ?? Number.NEGATIVE_INFINITY;
  return (
    states
      .filter(({ startedAt }) => startedAt >= oldestMs)
      // Ids are latin1 texts of one length, so they compare as their bytes do.
      .sort((a, b) => b.startedAt - a.startedAt || (a.id < b.id ? -1 : 1))
      .slice(0, statesMax)
  );
}

type Writer = (row: Record<string, unknown>, state: SessionState) => void;

/** Writes a column of a listed session; undefined for a column that is not in memory. */
function writerOf({ texts }: SiteView, column: string): Writer | undefined {
  const word = wordOf(column);
  if (word >= 0)
    return (row, state) => {
      row[column] = texts.words.textOf(state.words[word] ?? 0);
    };
  switch (column) {
    case 'id':
      return (row, state) => {
        row.id = hexOf(state.id);
      };
    case 'startedAt':
    case 'endedAt':
    case 'screenViews':
    case 'otherEvents':
      return (row, state) => {
        row[column] = state[column];
      };
    case 'deviceId':
      return (row, state) => {
        row.deviceId = texts.visitors.textOf(state.device);
      };
    case 'profileId':
      return (row, state) => {
        row.profileId = texts.visitors.textOf(state.profile);
      };
    case 'revenue':
      return (row, state) => {
        const amounts = [...state.revenue].map(([currency, amount]) => [currency, String(amount)]);
        row.revenue = Object.fromEntries(amounts);
      };
    default:
      return undefined;
  }
}

function hexOf(id: string): string {
  return Buffer.from(id, 'latin1').toString('hex');
}
