import { ENVIRONMENT_COLUMNS, SOURCE_COLUMNS } from '../../ingest/event.ts';
import { columnTypeOf, SESSIONS_COLUMNS } from '../../processor/rows.ts';
import type { SiteTexts } from './event-columns.ts';
import type { RowOfValues, TypedColumn } from './row-values.ts';

const COORDINATES: readonly string[] = ['longitude', 'latitude'];

/** Text columns of sessions that are held in memory, as numbers of words. */
const SESSION_WORDS: readonly string[] = [
  ...['entryOrigin', 'entryPath', 'exitOrigin', 'exitPath'],
  ...SOURCE_COLUMNS,
  ...ENVIRONMENT_COLUMNS.filter((name) => !COORDINATES.includes(name)),
];

/** The place of a column among the words; -1 for one that is none. */
export function wordOf(column: string): number {
  return SESSION_WORDS.indexOf(column);
}

export const HELD_SESSION_COLUMNS = [
  'sign',
  'version',
  'id',
  'deviceId',
  'profileId',
  'startedAt',
  'endedAt',
  'screenViews',
  'otherEvents',
  'revenue',
  'mixed',
  ...SESSION_WORDS,
] as const;

export const HELD_SESSIONS: readonly TypedColumn[] = HELD_SESSION_COLUMNS.map(typed);
/** Hot rows have every column. */
export const HOT_SESSIONS: readonly TypedColumn[] = SESSIONS_COLUMNS.map(typed);

/** A state of a session. `wordOf` says where a column is in `words`. */
export interface SessionState {
  /** 16 bytes as latin1 text. */
  readonly id: string;
  readonly version: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly screenViews: number;
  readonly otherEvents: number;
  /** Minor units by currency. */
  readonly revenue: ReadonlyMap<string, number>;
  readonly device: number;
  readonly profile: number;
  readonly isMixed: boolean;
  readonly words: Int32Array;
}

export function stateOf(row: RowOfValues, { visitors, words }: SiteTexts): SessionState {
  const revenue = row.revenue as ReadonlyMap<string, number>;
  return {
    id: String(row.id),
    version: Number(row.version),
    startedAt: Number(row.startedAt),
    endedAt: Number(row.endedAt),
    screenViews: Number(row.screenViews),
    otherEvents: Number(row.otherEvents),
    revenue: revenue.size === 0 ? NO_REVENUE : revenue,
    device: visitors.codeOf(String(row.deviceId)),
    profile: visitors.codeOf(String(row.profileId)),
    isMixed: row.mixed === 1,
    words: Int32Array.from(SESSION_WORDS, (column) => words.codeOf(String(row[column]))),
  };
}

const NO_REVENUE: ReadonlyMap<string, number> = new Map();

/**
 * The newest state of each session. A session has a slot for good, and its events name it. States are objects and not
 * columns, because they are replaced all the time, and questions read a few fields of each.
 */
export class SessionStates {
  /** By slot, 16 bytes as latin1 text. */
  readonly ids: string[] = [];
  /** By slot; undefined for a session that has no state, or none any more. */
  readonly states: (SessionState | undefined)[] = [];
  readonly #slots = new Map<string, number>();

  get size(): number {
    return this.states.length;
  }

  slotOf(id: string): number {
    const known = this.#slots.get(id);
    if (known !== undefined) return known;
    const slot = this.states.length;
    this.#slots.set(id, slot);
    this.ids.push(id);
    this.states.push(undefined);
    return slot;
  }

  /** Takes rows of the store in any order. A session whose newest state was cancelled has none. */
  take(rows: readonly { readonly state: SessionState; readonly sign: number }[]): void {
    for (const { state, sign } of rows) {
      if (sign < 0) continue;
      const slot = this.slotOf(state.id);
      const known = this.states[slot];
      if (known === undefined || known.version <= state.version) this.states[slot] = state;
    }
    for (const { state, sign } of rows) {
      if (sign > 0) continue;
      const slot = this.slotOf(state.id);
      if (this.states[slot]?.version === state.version) this.states[slot] = undefined;
    }
  }
}

function typed(name: string): TypedColumn {
  return { name, type: columnTypeOf('sessions', name) };
}
