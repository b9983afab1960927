import { ENVIRONMENT_COLUMNS, SOURCE_COLUMNS } from '../../ingest/event.ts';
import { columnTypeOf, SESSIONS_COLUMNS } from '../../processor/rows.ts';
import type { RowOfValues, TypedColumn } from './row-values.ts';
import type { SiteTexts } from './site-texts.ts';

const SLOTS_MIN = 64;

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
  /** The page on which it began, as events have theirs. */
  readonly entryPage: number;
  readonly words: Int32Array;
}

export function stateOf(row: RowOfValues, { visitors, words, pages }: SiteTexts): SessionState {
  const codeOf = (column: string) => words.codeOf(String(row[column]));
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
    entryPage: pages.codeOf(codeOf('entryOrigin'), codeOf('entryPath')),
    words: Int32Array.from(SESSION_WORDS, codeOf),
  };
}

const NO_REVENUE: ReadonlyMap<string, number> = new Map();

/** The slot of no session. */
const NO_SLOT = 0;
const NO_SESSION = '\0'.repeat(16);

/**
 * The newest state of each session. A session has a slot for good, and its events name it. States are objects and not
 * columns, because they are replaced all the time, and questions read a few fields of each.
 */
export class SessionStates {
  /** By slot, 16 bytes as latin1 text. */
  readonly ids: string[] = [NO_SESSION];
  /** By slot; undefined for a session that has no state, or none any more. */
  readonly states: (SessionState | undefined)[] = [undefined];
  /** By slot, the visitor of every event of a session whose events name several; 0 where each says for itself. */
  profiles = new Int32Array(SLOTS_MIN);
  readonly #slots = new Map<string, number>([[NO_SESSION, NO_SLOT]]);

  slotOf(id: string): number {
    const known = this.#slots.get(id);
    if (known !== undefined) return known;
    const slot = this.states.length;
    this.#slots.set(id, slot);
    this.ids.push(id);
    this.states.push(undefined);
    if (slot === this.profiles.length) {
      const profiles = new Int32Array(slot * 2);
      profiles.set(this.profiles);
      this.profiles = profiles;
    }
    return slot;
  }

  set(slot: number, state: SessionState | undefined): void {
    this.states[slot] = state;
    this.profiles[slot] = state?.isMixed === true ? state.profile : 0;
  }

  /** Takes a state, unless a newer one is here. */
  take(state: SessionState): void {
    const slot = this.slotOf(state.id);
    const known = this.states[slot];
    if (known === undefined || known.version <= state.version) this.set(slot, state);
  }

  /** A session whose newest state was cancelled has none. */
  cancel({ id, version }: SessionState): void {
    const slot = this.slotOf(id);
    if (this.states[slot]?.version === version) this.set(slot, undefined);
  }
}

function typed(name: string): TypedColumn {
  return { name, type: columnTypeOf('sessions', name) };
}
