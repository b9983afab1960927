import type { MemoryStatement } from './memory-statement.ts';
import { type SessionState, wordOf } from './session-columns.ts';
import type { SiteView } from './site-rows.ts';
import { eachEvent, eachSession, edgeBelow } from './walk.ts';

/** `event-list-pieces.sql` */
export function eventPieces(view: SiteView, statement: MemoryStatement): object[] {
  const { edges } = statement.bound;
  const counts = new Map<number, number>();
  eachListed(view, statement, (row) => {
    const edge = edgeBelow(edges, view.events.at[row] ?? 0);
    counts.set(edge, (counts.get(edge) ?? 0) + 1);
  });
  return [...counts].map(([edge, count]) => ({ edge: edges[edge], events: count }));
}

/** `event-list.sql`: one page, newest first, ties by id. Undefined when a row of it is not in memory. */
export function eventList(view: SiteView, statement: MemoryStatement): object[] | undefined {
  const { behindAt = 0, behindId = '', offset = 0, limit = 0 } = statement.bound;
  const { events } = view;
  const behind = Buffer.alloc(16);
  behind.write(behindId, 'hex');
  const found: number[] = [];
  eachListed(view, statement, (row) => {
    const isBehindId = behindId === '' || events.ids.compare(behind, 0, 16, row * 16, row * 16 + 16) > 0;
    if ((events.at[row] ?? 0) < behindAt || isBehindId) found.push(row);
  });
  found.sort((a, b) => (events.at[b] ?? 0) - (events.at[a] ?? 0) || events.compareIds(a, b));
  const page: object[] = [];
  for (const row of found.slice(offset, offset + limit)) {
    const listed = statement.listed(events.ids.toString('hex', row * 16, row * 16 + 16));
    if (listed === undefined) return undefined;
    page.push(listed);
  }
  return page;
}

/** Calls `visit` for the events of a list, oldest first. */
function eachListed(view: SiteView, { bound, passes }: MemoryStatement, visit: (row: number) => void): void {
  const { names = [], profileId = '', sessionId = '' } = bound;
  const { events, texts } = view;
  const asked = new Set(names.map((name) => texts.words.find(name)));
  const profile = texts.visitors.find(profileId) ?? -1;
  eachEvent(view, { fromMs: bound.from, toMs: bound.to }, (row) => {
    const isNamed = names.length === 0 ? events.isSynthetic[row] === 0 : asked.has(events.name[row]);
    if (!isNamed || (profileId !== '' && events.profile[row] !== profile)) return;
    if (sessionId !== '' && sessionIdOf(view, row) !== sessionId.toLowerCase()) return;
    if (passes(row)) visit(row);
  });
}

function sessionIdOf({ events, sessionIds }: SiteView, row: number): string {
  const slot = events.session[row] ?? -1;
  return slot === -1 ? '0'.repeat(32) : hexOf(sessionIds[slot] ?? '');
}

/** `session-list.sql`: one page, newest first, ties by id. */
export function sessionList(view: SiteView, { bound, columns, fits }: MemoryStatement): object[] | undefined {
  const { profileId = '', behindAt = 0, behindId = '', offset = 0, limit = 0 } = bound;
  const writers = columns.split(', ').map((column) => writerOf(view, column));
  if (writers.includes(undefined)) return undefined;
  const profile = profileId === '' ? undefined : (view.texts.visitors.find(profileId) ?? -1);
  const found: SessionState[] = [];
  const behind = Buffer.from(behindId, 'hex').toString('latin1');
  eachSession(view, { fromMs: bound.from, toMs: bound.to }, (state) => {
    if (profile !== undefined && state.profile !== profile) return;
    const isBehind = state.startedAt < behindAt || (state.startedAt === behindAt && state.id > behind);
    if (isBehind && fits(state)) found.push(state);
  });
  // Ids are latin1 texts of one length, so they compare as their bytes do.
  found.sort((a, b) => b.startedAt - a.startedAt || (a.id < b.id ? -1 : 1));
  return found.slice(offset, offset + limit).map((state) => {
    const row: Record<string, unknown> = {};
    for (const write of writers) write?.(row, state);
    return row;
  });
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
