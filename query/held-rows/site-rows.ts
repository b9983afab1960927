import type { StoredId } from '../../infra/accounts/ids.ts';
import { AMOUNT_MAX, EventColumns, HELD_EVENT_COLUMNS, HELD_EVENTS } from './event-columns.ts';
import { type HotRows, type ReadHotRows, readHotRows } from './hot-rows.ts';
import { Scratch } from './marks.ts';
import { type RowOfValues, RowScan, RowShape } from './row-values.ts';
import {
  HELD_SESSION_COLUMNS,
  HELD_SESSIONS,
  type SessionState,
  SessionStates,
  stateOf,
} from './session-columns.ts';
import { SiteHashes } from './site-hashes.ts';
import { PairCodes, type SiteTexts, TextCodes } from './site-texts.ts';

const EVENT_SHAPE = new RowShape(HELD_EVENTS, new Set(HELD_EVENT_COLUMNS));
const SESSION_SHAPE = new RowShape(HELD_SESSIONS, new Set(HELD_SESSION_COLUMNS));
/** Rows of one piece; takes a few milliseconds. */
const PIECE_ROWS = 500;

/** Everything that a question sees: history up to one flush, and hot rows. Valid during the computation. */
export interface SiteView {
  readonly events: EventColumns;
  /** Rows of `events` by time. */
  readonly order: Int32Array;
  readonly sessions: SessionStates;
  readonly texts: SiteTexts;
  readonly hashes: SiteHashes;
}

/** The events and sessions of one site, as of one flush of each lane. */
export class SiteRows {
  readonly #texts: SiteTexts = {
    visitors: new TextCodes(),
    words: new TextCodes(),
    pages: new PairCodes(),
  };
  #events = new EventColumns();
  readonly #sessions = new SessionStates();
  readonly #hashes = new SiteHashes(this.#texts.visitors, this.#sessions);
  /** Questions that share a seam share its decoded hot rows, too. */
  readonly #hot = new WeakMap<HotRows, ReadHotRows>();
  #order: Int32Array = new Int32Array(0);
  /** For the order of a question with hot rows. */
  readonly #hotOrder = new Scratch();
  #flushed: readonly number[] = [];
  #hasLargeAmounts = false;

  /** The site's `storedId`. */
  readonly #site: StoredId;

  constructor(site: StoredId) {
    this.#site = site;
  }

  get events(): number {
    return this.#events.length;
  }

  /** By lane, the last flush in memory; empty before the first rows. */
  get flushed(): readonly number[] {
    return this.#flushed;
  }

  /** It has amounts whose sums may not be exact here. */
  get hasLargeAmounts(): boolean {
    return this.#hasLargeAmounts;
  }

  /**
   * Adds the store's rows of flushes after `this.flushed` up to `flushed`. `pause` is awaited between pieces, so that
   * the thread stays free. Until the end, the rows are as of no flush and must not be asked.
   */
  async take(
    { events, sessions }: HotRows,
    flushed: readonly number[],
    pause: () => Promise<void>,
  ): Promise<void> {
    await this.#takeSessions(sessions, pause);
    const isFirst = this.#events.length === 0;
    await this.#takeEvents(events, pause);
    if (isFirst) this.#sortEvents();
    this.#flushed = flushed.map((flush, lane) => Math.max(flush, this.#flushed[lane] ?? 0));
  }

  async #takeSessions(bytes: Uint8Array, pause: () => Promise<void>): Promise<void> {
    const reader = new RowScan(bytes, SESSION_SHAPE);
    const cancelled: SessionState[] = [];
    const take = (row: RowOfValues) => {
      const state = stateOf(row, this.#texts);
      if (Number(row.sign) < 0) {
        cancelled.push(state);
        return;
      }
      this.#noteAmounts(state.revenue.values());
      this.#sessions.take(state);
    };
    while (reader.visit(PIECE_ROWS, take)) await pause();
    // Rows come in any order, and only a state that is here can be cancelled.
    for (const state of cancelled) this.#sessions.cancel(state);
  }

  async #takeEvents(bytes: Uint8Array, pause: () => Promise<void>): Promise<void> {
    const reader = new RowScan(bytes, EVENT_SHAPE);
    const add = (row: RowOfValues) => {
      this.#events.add(row, this.#sessions.slotOf(String(row.sessionId)), this.#texts);
    };
    for (let hasMore = true; hasMore; ) {
      const first = this.#events.length;
      hasMore = reader.visit(PIECE_ROWS, add);
      if (this.#events.length === first) return;
      this.#noteAmounts(this.#events.amount.subarray(first, this.#events.length));
      this.#order = this.#merged(first, new Int32Array(this.#events.length));
      if (hasMore) await pause();
    }
  }

  /** Sorts the events by time, so that questions read memory in one direction. */
  #sortEvents(): void {
    this.#events = this.#events.sorted(this.#order);
    this.#order = Int32Array.from(this.#order, (_, place) => place);
  }

  /** Computes over these rows and hot ones. Hot rows that are here already do not count twice. */
  withHot<Result>(hot: readonly HotRows[], compute: (view: SiteView) => Result): Result {
    const first = this.#events.length;
    const replaced: [slot: number, state: SessionState | undefined][] = [];
    try {
      for (const rows of hot) {
        const { events, lanes, flushes, states } = this.#read(rows);
        for (const state of states) {
          const slot = this.#sessions.slotOf(state.id);
          if (this.#sessions.isNewer(slot, state)) continue;
          replaced.push([slot, this.#sessions.stateAt(slot)]);
          this.#sessions.set(slot, state);
        }
        const later: number[] = [];
        for (let row = 0; row < events.length; row += 1)
          if ((flushes[row] ?? 0) > (this.#flushed[lanes[row] ?? 0] ?? -1)) later.push(row);
        this.#events.copy(events, later);
      }
      const { length } = this.#events;
      const order = length === first ? this.#order : this.#merged(first, this.#hotOrder.take(length));
      return compute({
        events: this.#events,
        order,
        sessions: this.#sessions,
        texts: this.#texts,
        hashes: this.#hashes,
      });
    } finally {
      this.#events.length = first;
      for (const [slot, state] of replaced.reverse()) this.#sessions.set(slot, state);
    }
  }

  #read(rows: HotRows): ReadHotRows {
    const known = this.#hot.get(rows);
    if (known !== undefined) return known;
    const slotOf = (id: string) => this.#sessions.slotOf(id);
    const read = readHotRows(rows, { site: this.#site, texts: this.#texts, slotOf });
    this.#noteAmounts(read.events.amount.subarray(0, read.events.length));
    for (const { revenue } of read.states) this.#noteAmounts(revenue.values());
    this.#hot.set(rows, read);
    return read;
  }

  #noteAmounts(amounts: Iterable<number>): void {
    for (const amount of amounts) if (Math.abs(amount) > AMOUNT_MAX) this.#hasLargeAmounts = true;
  }

  /** The order with the unordered rows from `first` on, written to `order`. */
  #merged(first: number, order: Int32Array): Int32Array {
    const { at, length } = this.#events;
    const added = Int32Array.from({ length: length - first }, (_, place) => first + place);
    added.sort((one, other) => (at[one] ?? 0) - (at[other] ?? 0));
    // Added rows are mostly the newest, so nearly all of the order is copied in one piece.
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
