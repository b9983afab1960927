import type { AnswerRow } from '../sql/answer-rows.ts';
import type { MemoryStatement } from './memory-statement.ts';
import { type SessionState, wordOf } from './session-columns.ts';
import type { SiteView } from './site-rows.ts';
import { Buckets, eachSession, rowsIn } from './walk.ts';

/** `event-list-pieces.sql` */
export function eventPieces(view: SiteView, statement: MemoryStatement): AnswerRow<'event-list-pieces'>[] {
  const { edges, from, to } = statement.bound;
  const counts = new Map<number, number>();
  const buckets = new Buckets(edges);
  const isListed = listTestOf(view, statement);
  const rows = rowsIn(view, { fromMs: from, toMs: to });
  for (let place = 0; place < rows.length; place += 1) {
    const row = rows[place] ?? 0;
    if (!isListed(row)) continue;
    const bucket = buckets.of(view.events.at[row] ?? 0);
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
  }
  return [...counts].map(([bucket, count]) => ({ edge: edges[bucket] ?? 0, events: count }));
}

/** `event-list.sql`: one page, newest first, ties by id. Undefined if one of its rows is not in memory. */
export function eventList(view: SiteView, statement: MemoryStatement): AnswerRow<'event-list'>[] | undefined {
  const { offset = 0, limit = 0 } = statement.bound;
  const { events } = view;
  const found = newestListed(view, statement, offset + limit);
  found.sort((a, b) => (events.at[b] ?? 0) - (events.at[a] ?? 0) || events.compareIds(a, b));
  const page: AnswerRow<'event-list'>[] = [];
  for (const row of found.slice(offset, offset + limit)) {
    const listed = statement.listed(events.idOf(row));
    if (listed === undefined) return undefined;
    page.push(listed);
  }
  return page;
}

/** At least `rows` newest rows of a list, with all rows of the oldest one's time, because ids order these. */
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

/** The list includes an event, whatever its time. */
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
    return isOfSession && (passes === undefined || passes(row));
  };
}

/** `session-list.sql`: one page, newest first, ties by id. */
export function sessionList(
  view: SiteView,
  statement: MemoryStatement,
): AnswerRow<'session-list'>[] | undefined {
  const { offset = 0, limit = 0 } = statement.bound;
  const writers = statement.columns.split(', ').map((column) => writerOf(view, column));
  if (writers.includes(undefined)) return undefined;
  return newestOf(view, listedSessions(view, statement), offset + limit)
    .slice(offset)
    .map((slot) => {
      const row: Record<string, unknown> = {};
      const state = view.sessions.stateAt(slot);
      if (state !== undefined) for (const write of writers) write?.(row, state);
      // Written by column: the statement names the columns of a listed session.
      return row as AnswerRow<'session-list'>;
    });
}

/** The slots of the sessions of a list. */
function listedSessions(view: SiteView, { bound, fits }: MemoryStatement): number[] {
  const { profileId = '', behindAt = 0, behindId = '' } = bound;
  const { startedAt, ids, profile } = view.sessions;
  const asked = profileId === '' ? undefined : (view.texts.visitors.find(profileId) ?? -1);
  const behind = Buffer.from(behindId, 'hex').toString('latin1');
  const found: number[] = [];
  eachSession(view, { fromMs: bound.from, toMs: bound.to }, (slot) => {
    if (asked !== undefined && profile[slot] !== asked) return;
    const startedMs = startedAt[slot] ?? 0;
    const isBehind = startedMs < behindAt || (startedMs === behindAt && (ids[slot] ?? '') > behind);
    if (isBehind && fits(slot)) found.push(slot);
  });
  return found;
}

/** The slots of the newest sessions, up to the maximum; ties by id. */
function newestOf({ sessions }: SiteView, slots: readonly number[], slotsMax: number): number[] {
  if (slotsMax === 0) return [];
  const startedMs = (slot: number) => sessions.startedAt[slot] ?? 0;
  const idOf = (slot: number) => sessions.ids[slot] ?? '';
  // Only sessions that can be on the page are sorted by the slow comparison.
  const times = Float64Array.from(slots, startedMs).sort();
  const oldestMs = times[times.length - slotsMax] ?? Number.NEGATIVE_INFINITY;
  return (
    slots
      .filter((slot) => startedMs(slot) >= oldestMs)
      // Ids are latin1 texts of equal length, so they compare like their bytes.
      .sort((a, b) => startedMs(b) - startedMs(a) || (idOf(a) < idOf(b) ? -1 : 1))
      .slice(0, slotsMax)
  );
}

type Writer = (row: Record<string, unknown>, state: SessionState) => void;

/** Writes a column of a listed session; undefined if the column is not in memory. */
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
