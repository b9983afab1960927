import { ENVIRONMENT_COLUMNS, SOURCE_COLUMNS } from '../../ingest/event.ts';
import { columnTypeOf, SESSIONS_COLUMNS } from '../../processor/rows.ts';
import type { RowOfValues, TypedColumn } from './row-values.ts';
import type { SiteTexts } from './site-texts.ts';

const SLOTS_MIN = 64;

const COORDINATES: readonly string[] = ['longitude', 'latitude'];

/** Text columns of sessions in memory, as numbers of words. */
const SESSION_WORDS: readonly string[] = [
  ...['entryOrigin', 'entryPath', 'exitOrigin', 'exitPath'],
  ...SOURCE_COLUMNS,
  ...ENVIRONMENT_COLUMNS.filter((name) => !COORDINATES.includes(name)),
];

/** The index of a column among the words; -1 for other columns. */
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

/** A state of a session. `wordOf` is the index of a column in `words`. */
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
  /** The page on which it began, coded like the pages of events. */
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

/** The slot for events without a session. */
const NO_SLOT = 0;
const NO_SESSION = '\0'.repeat(16);

/** Compares false with every time, so a slot without a state is in no span. */
const NEVER = Number.NaN;

/**
 * The newest state of each session, in columns by slot. Questions walk a few columns of every session: with 100,000
 * events a breakdown takes 4 ms, and took 8 with states as objects. A session keeps its slot, and its events refer to
 * it.
 */
export class SessionStates {
  /** Number of slots. Slot 0 means no session. */
  length = 1;
  /** 16 bytes as latin1 text. */
  readonly ids: string[] = [NO_SESSION];
  /** `NaN` for a session without a state; its other columns are then meaningless. */
  startedAt = new Float64Array(SLOTS_MIN);
  endedAt = new Float64Array(SLOTS_MIN);
  screenViews = new Uint32Array(SLOTS_MIN);
  profile = new Int32Array(SLOTS_MIN);
  /** The profile, or the device without one; 0 for none. */
  visitor = new Int32Array(SLOTS_MIN);
  entryPage = new Int32Array(SLOTS_MIN);
  /** The profile of a mixed session, the visitor of all its events; 0 for other sessions, whose events have their own. */
  eventVisitor = new Int32Array(SLOTS_MIN);
  /** By index of the column (`wordOf`), then by slot. */
  readonly words: Int32Array[] = SESSION_WORDS.map(() => new Int32Array(SLOTS_MIN));
  /** By slot, for sessions with revenue. */
  readonly revenue = new Map<number, ReadonlyMap<string, number>>();
  #version = new Float64Array(SLOTS_MIN);
  #otherEvents = new Uint32Array(SLOTS_MIN);
  #device = new Int32Array(SLOTS_MIN);
  #isMixed = new Uint8Array(SLOTS_MIN);
  readonly #slots = new Map<string, number>([[NO_SESSION, NO_SLOT]]);

  constructor() {
    this.set(NO_SLOT, undefined);
  }

  slotOf(id: string): number {
    const known = this.#slots.get(id);
    if (known !== undefined) return known;
    const slot = this.length;
    if (slot === this.startedAt.length) this.#grow();
    this.#slots.set(id, slot);
    this.ids.push(id);
    this.length += 1;
    this.set(slot, undefined);
    return slot;
  }

  /** The state of a session; undefined without one. */
  stateAt(slot: number): SessionState | undefined {
    const startedAt = this.startedAt[slot] ?? NEVER;
    if (Number.isNaN(startedAt)) return undefined;
    return {
      id: this.ids[slot] ?? NO_SESSION,
      version: this.#version[slot] ?? 0,
      startedAt,
      endedAt: this.endedAt[slot] ?? 0,
      screenViews: this.screenViews[slot] ?? 0,
      otherEvents: this.#otherEvents[slot] ?? 0,
      revenue: this.revenue.get(slot) ?? NO_REVENUE,
      device: this.#device[slot] ?? 0,
      profile: this.profile[slot] ?? 0,
      isMixed: this.#isMixed[slot] === 1,
      entryPage: this.entryPage[slot] ?? 0,
      words: Int32Array.from(this.words, (column) => column[slot] ?? 0),
    };
  }

  set(slot: number, state: SessionState | undefined): void {
    this.startedAt[slot] = state?.startedAt ?? NEVER;
    this.#version[slot] = state?.version ?? NEVER;
    this.eventVisitor[slot] = state?.isMixed === true ? state.profile : 0;
    this.revenue.delete(slot);
    if (state === undefined) return;
    if (state.revenue.size > 0) this.revenue.set(slot, state.revenue);
    this.endedAt[slot] = state.endedAt;
    this.screenViews[slot] = state.screenViews;
    this.#otherEvents[slot] = state.otherEvents;
    this.#device[slot] = state.device;
    this.profile[slot] = state.profile;
    this.visitor[slot] = state.profile || state.device;
    this.#isMixed[slot] = state.isMixed ? 1 : 0;
    this.entryPage[slot] = state.entryPage;
    for (const [place, column] of this.words.entries()) column[slot] = state.words[place] ?? 0;
  }

  /** Takes a state that is newer than the held one. */
  take(state: SessionState): void {
    const slot = this.slotOf(state.id);
    if (!this.isNewer(slot, state)) this.set(slot, state);
  }

  /** The held state is newer than this one of the same session. */
  isNewer(slot: number, { version }: SessionState): boolean {
    return (this.#version[slot] ?? NEVER) > version;
  }

  /** A session whose newest state was cancelled has none. */
  cancel({ id, version }: SessionState): void {
    const slot = this.slotOf(id);
    if (this.#version[slot] === version) this.set(slot, undefined);
  }

  #grow(): void {
    const size = this.startedAt.length * 2;
    this.startedAt = withRoom(this.startedAt, size);
    this.endedAt = withRoom(this.endedAt, size);
    this.screenViews = withRoom(this.screenViews, size);
    this.profile = withRoom(this.profile, size);
    this.visitor = withRoom(this.visitor, size);
    this.entryPage = withRoom(this.entryPage, size);
    this.eventVisitor = withRoom(this.eventVisitor, size);
    this.#version = withRoom(this.#version, size);
    this.#otherEvents = withRoom(this.#otherEvents, size);
    this.#device = withRoom(this.#device, size);
    this.#isMixed = withRoom(this.#isMixed, size);
    for (const [place, column] of this.words.entries()) this.words[place] = withRoom(column, size);
  }
}

/** A copy with room for this many numbers. */
function withRoom<Numbers extends Float64Array | Int32Array | Uint32Array | Uint8Array>(
  numbers: Numbers,
  size: number,
): Numbers {
  const roomy = new (numbers.constructor as new (length: number) => Numbers)(size);
  roomy.set(numbers);
  return roomy;
}

function typed(name: string): TypedColumn {
  return { name, type: columnTypeOf('sessions', name) };
}
