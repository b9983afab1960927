import { AMOUNT_MAX, EventColumns, HELD_EVENTS, HOT_EVENTS, type SiteTexts } from './event-columns.ts';
import { eachRow, type TypedColumn } from './row-values.ts';
import { HELD_SESSIONS, HOT_SESSIONS, type SessionState, SessionStates, stateOf } from './session-columns.ts';
import { TextCodes } from './text-codes.ts';

const NO_SESSION = '\0'.repeat(16);

/** Rows of an owner that are not in the store, as RowBinary. */
export interface HotRows {
  readonly events: Uint8Array;
  readonly sessions: Uint8Array;
}

/** Everything that a question sees: history up to one flush, and hot rows. Valid while it is computed. */
export interface SiteView {
  readonly events: EventColumns;
  /** Rows of `events` by time. */
  readonly order: Int32Array;
  /** By slot, the state of each session; undefined for a slot without one. */
  readonly states: readonly (SessionState | undefined)[];
  /** By slot, the id of each session. */
  readonly sessionIds: readonly string[];
  readonly texts: SiteTexts;
}

/** The events and sessions of one site, as of one flush of each lane. */
export class SiteRows {
  readonly #texts: SiteTexts = { visitors: new TextCodes(), words: new TextCodes() };
  readonly #events = new EventColumns(this.#texts);
  readonly #sessions = new SessionStates();
  #order: Int32Array = new Int32Array(0);
  #flushed: readonly number[] = [];
  /** Whether it has amounts whose sums may not be exact here. */
  hasLargeAmounts = false;

  /** The site's `storedId`. */
  readonly #site: string;

  constructor(site: string) {
    this.#site = site;
  }

  get events(): number {
    return this.#events.length;
  }

  /** By lane, the last flush that is here; empty before the first rows. */
  get flushed(): readonly number[] {
    return this.#flushed;
  }

  /** Takes what the store has of the flushes behind `this.flushed` up to these. */
  take(events: Buffer, sessions: Buffer, flushed: readonly number[]): void {
    this.#takeSessions(sessions);
    const first = this.#events.length;
    this.#addEvents(events, HELD_EVENTS, []);
    if (this.#events.length > first) this.#order = this.#merged(first);
    this.#flushed = flushed.map((flush, lane) => Math.max(flush, this.#flushed[lane] ?? 0));
  }

  /** Computes something over these rows and hot ones; rows that are here already do not count twice. */
  withHot<Result>(hot: readonly HotRows[], compute: (view: SiteView) => Result): Result {
    const first = this.#events.length;
    const replaced: [slot: number, state: SessionState | undefined][] = [];
    try {
      for (const { events, sessions } of hot) {
        for (const state of this.#newestOf(sessions)) {
          const slot = this.#sessions.slotOf(state.id);
          const known = this.#sessions.states[slot];
          if (known !== undefined && known.version > state.version) continue;
          replaced.push([slot, known]);
          this.#sessions.states[slot] = state;
        }
        this.#addEvents(bufferOf(events), HOT_EVENTS, this.#flushed);
      }
      const order = this.#events.length === first ? this.#order : this.#merged(first);
      return compute({
        events: this.#events,
        order,
        states: this.#sessions.states,
        sessionIds: this.#sessions.ids,
        texts: this.#texts,
      });
    } finally {
      this.#events.length = first;
      for (const [slot, state] of replaced.reverse()) this.#sessions.states[slot] = state;
    }
  }

  /** Adds events of flushes that are not in `flushed` yet. */
  #addEvents(bytes: Buffer, columns: readonly TypedColumn[], flushed: readonly number[]): void {
    eachRow(bytes, columns, EVENT_NAMES, (row) => {
      if (row.projectId !== undefined && row.projectId !== this.#site) return;
      if (Number(row.flushNumber) <= (flushed[Number(row.partition)] ?? -1)) return;
      if (Math.abs(Number(row.revenue)) > AMOUNT_MAX) this.hasLargeAmounts = true;
      const id = String(row.sessionId);
      this.#events.add(row, id === NO_SESSION ? -1 : this.#sessions.slotOf(id));
    });
  }

  #takeSessions(bytes: Buffer): void {
    const rows: { readonly state: SessionState; readonly sign: number }[] = [];
    eachRow(bytes, HELD_SESSIONS, SESSION_NAMES, (row) => {
      rows.push({ state: this.#stateOf(row), sign: Number(row.sign) });
    });
    this.#sessions.take(rows);
  }

  /** The newest state of each session among hot rows. */
  #newestOf(bytes: Uint8Array): readonly SessionState[] {
    const newest = new Map<string, SessionState>();
    eachRow(bufferOf(bytes), HOT_SESSIONS, SESSION_NAMES, (row) => {
      if (Number(row.sign) < 0 || row.projectId !== this.#site) return;
      const known = newest.get(String(row.id));
      if (known === undefined || known.version < Number(row.version))
        newest.set(String(row.id), this.#stateOf(row));
    });
    return [...newest.values()];
  }

  #stateOf(row: Parameters<typeof stateOf>[0]): SessionState {
    const state = stateOf(row, this.#texts);
    for (const amount of state.revenue.values())
      if (Math.abs(amount) > AMOUNT_MAX) this.hasLargeAmounts = true;
    return state;
  }

  /** The order with the rows from `first` on, which are in no order. */
  #merged(first: number): Int32Array {
    const { at, length } = this.#events;
    const added = Int32Array.from({ length: length - first }, (_, place) => first + place);
    added.sort((one, other) => (at[one] ?? 0) - (at[other] ?? 0));
    const order = new Int32Array(length);
    // Added rows are new ones mostly, so nearly all of the order stays as it is and is copied in one piece.
    let from = this.#order.length;
    const firstMs = at[added[0] ?? 0] ?? 0;
    while (from > 0 && (at[this.#order[from - 1] ?? 0] ?? 0) > firstMs) from -= 1;
    order.set(this.#order.subarray(0, from));
    let next = 0;
    for (let place = from; place < length; place += 1) {
      const old = this.#order[from];
      const more = added[next];
      const isOld = more === undefined || (old !== undefined && (at[old] ?? 0) <= (at[more] ?? 0));
      order[place] = (isOld ? old : more) ?? 0;
      if (isOld) from += 1;
      else next += 1;
    }
    return order;
  }
}

const EVENT_NAMES: ReadonlySet<string> = new Set(['projectId', ...HELD_EVENTS.map(({ name }) => name)]);
const SESSION_NAMES: ReadonlySet<string> = new Set(['projectId', ...HELD_SESSIONS.map(({ name }) => name)]);

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
