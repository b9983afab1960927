import type { StoredId } from '../../infra/accounts/ids.ts';
import { EventColumns, HELD_EVENTS, HOT_EVENTS } from './event-columns.ts';
import { type RowOfValues, RowScan, RowShape } from './row-values.ts';
import { HELD_SESSIONS, HOT_SESSIONS, type SessionState, stateOf } from './session-columns.ts';
import type { SiteTexts } from './site-texts.ts';

const EVENT_SHAPE = new RowShape(HOT_EVENTS, new Set(['projectId', ...HELD_EVENTS.map(({ name }) => name)]));
const SESSION_SHAPE = new RowShape(
  HOT_SESSIONS,
  new Set(['projectId', ...HELD_SESSIONS.map(({ name }) => name)]),
);

/** An owner's rows that are not in the store, as RowBinary. */
export interface HotRows {
  readonly events: Uint8Array;
  readonly sessions: Uint8Array;
}

/** Context for decoding hot rows. */
export interface HotContext {
  /** The site's `storedId`. */
  readonly site: StoredId;
  readonly texts: SiteTexts;
  /** The slot of a session; a new slot for an unknown session. */
  readonly slotOf: (sessionId: string) => number;
}

/** Hot rows of one site as its columns. */
export interface ReadHotRows {
  readonly events: EventColumns;
  /** By row of `events`: its lane and its flush. */
  readonly lanes: readonly number[];
  readonly flushes: readonly number[];
  /** The newest state of each session. */
  readonly states: readonly SessionState[];
}

export function readHotRows(hot: HotRows, context: HotContext): ReadHotRows {
  const events = new EventColumns();
  const lanes: number[] = [];
  const flushes: number[] = [];
  new RowScan(hot.events, EVENT_SHAPE).visit(Number.POSITIVE_INFINITY, (row) => {
    if (row.projectId !== context.site) return;
    events.add(row, context.slotOf(String(row.sessionId)), context.texts);
    lanes.push(Number(row.partition));
    flushes.push(Number(row.flushNumber));
  });
  return { events, lanes, flushes, states: newestStates(hot.sessions, context) };
}

function newestStates(bytes: Uint8Array, { site, texts }: HotContext): readonly SessionState[] {
  const newest = new Map<string, SessionState>();
  new RowScan(bytes, SESSION_SHAPE).visit(Number.POSITIVE_INFINITY, (row: RowOfValues) => {
    if (Number(row.sign) < 0 || row.projectId !== site) return;
    const known = newest.get(String(row.id));
    if (known === undefined || known.version < Number(row.version))
      newest.set(String(row.id), stateOf(row, texts));
  });
  return [...newest.values()];
}
