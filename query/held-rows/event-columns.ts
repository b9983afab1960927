import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { columnTypeOf, EVENTS_COLUMNS } from '../../processor/rows.ts';
import type { RowOfValues, TypedColumn } from './row-values.ts';
import type { SiteTexts } from './site-texts.ts';

/** Columns of events in memory, in the order of the store's answer. */
export const HELD_EVENT_COLUMNS = [
  'partition',
  'flushNumber',
  'id',
  'sessionId',
  'deviceId',
  'profileId',
  'revenue',
  'currency',
  'name',
  'createdAt',
  'origin',
  'path',
  'title',
] as const;

export const HELD_EVENTS: readonly TypedColumn[] = HELD_EVENT_COLUMNS.map(typed);
/** Hot rows have every column. */
export const HOT_EVENTS: readonly TypedColumn[] = EVENTS_COLUMNS.map(typed);

/** Amounts up to this size add up exactly for any number of events of a small site. */
export const AMOUNT_MAX = 2 ** 33;

const ROWS_MIN = 64;
const ID_BYTES = 16;

/** Columns of numbers, and their constructors. */
const NUMBERS = {
  at: Float64Array,
  amount: Float64Array,
  isSynthetic: Uint8Array,
  session: Int32Array,
  visitor: Int32Array,
  profile: Int32Array,
  currency: Int32Array,
  name: Int32Array,
  page: Int32Array,
  title: Int32Array,
} as const;
const NUMBER_NAMES = Object.keys(NUMBERS) as readonly (keyof typeof NUMBERS)[];

/** Events of one site in columns. A row is an index into all of them. */
export class EventColumns {
  length = 0;
  at = new Float64Array(ROWS_MIN);
  amount = new Float64Array(ROWS_MIN);
  isSynthetic = new Uint8Array(ROWS_MIN);
  /** 16 bytes a row. */
  ids = Buffer.alloc(ID_BYTES * ROWS_MIN);
  /** The slot of its session; 0 for none. */
  session = new Int32Array(ROWS_MIN);
  /** The visitor of the event itself; its session may name another. */
  visitor = new Int32Array(ROWS_MIN);
  profile = new Int32Array(ROWS_MIN);
  currency = new Int32Array(ROWS_MIN);
  name = new Int32Array(ROWS_MIN);
  page = new Int32Array(ROWS_MIN);
  title = new Int32Array(ROWS_MIN);

  /** Adds a row. `session` is the slot of its session. */
  add(row: RowOfValues, session: number, { visitors, words, pages }: SiteTexts): void {
    const at = this.length;
    this.#makeRoom(at + 1);
    const name = String(row.name);
    const profile = visitors.codeOf(String(row.profileId));
    this.at[at] = Number(row.createdAt);
    this.amount[at] = Number(row.revenue);
    this.isSynthetic[at] = name === SESSION_START || name === SESSION_END ? 1 : 0;
    this.ids.write(String(row.id), at * ID_BYTES, ID_BYTES, 'latin1');
    this.session[at] = session;
    this.visitor[at] = profile || visitors.codeOf(String(row.deviceId));
    this.profile[at] = profile;
    this.currency[at] = words.codeOf(String(row.currency));
    this.name[at] = words.codeOf(name);
    this.page[at] = pages.codeOf(words.codeOf(String(row.origin)), words.codeOf(String(row.path)));
    this.title[at] = words.codeOf(String(row.title));
    this.length = at + 1;
  }

  /** Adds rows of other columns that share the texts. */
  copy(from: EventColumns, rows: ArrayLike<number> & Iterable<number>): void {
    this.#makeRoom(this.length + rows.length);
    for (const name of NUMBER_NAMES) {
      const [to, of] = [this[name], from[name]];
      for (let index = 0; index < rows.length; index += 1)
        to[this.length + index] = of[rows[index] ?? 0] ?? 0;
    }
    for (const row of rows) {
      from.ids.copy(this.ids, this.length * ID_BYTES, row * ID_BYTES, (row + 1) * ID_BYTES);
      this.length += 1;
    }
  }

  /** A copy with these rows in this order, and no spare room. */
  sorted(order: Int32Array): EventColumns {
    const sorted = new EventColumns();
    sorted.copy(this, order);
    return sorted;
  }

  /** The first row is newer: by time, then by id, in the store's order. */
  isNewer(one: number, other: number): boolean {
    const laterMs = (this.at[one] ?? 0) - (this.at[other] ?? 0);
    return laterMs === 0 ? this.compareIds(one, other) > 0 : laterMs > 0;
  }

  compareIds(one: number, other: number): number {
    return this.ids.compare(
      this.ids,
      other * ID_BYTES,
      (other + 1) * ID_BYTES,
      one * ID_BYTES,
      (one + 1) * ID_BYTES,
    );
  }

  /** The id of a row, in hexadecimal digits. */
  idOf(row: number): string {
    return this.ids.toString('hex', row * ID_BYTES, (row + 1) * ID_BYTES);
  }

  #makeRoom(rows: number): void {
    if (rows <= this.at.length) return;
    const size = Math.max(rows, this.at.length * 2);
    const grown: Record<string, Float64Array | Int32Array | Uint8Array> = {};
    for (const name of NUMBER_NAMES) {
      const column = new NUMBERS[name](size);
      column.set(this[name]);
      grown[name] = column;
    }
    Object.assign(this, grown);
    const ids = Buffer.alloc(size * ID_BYTES);
    this.ids.copy(ids);
    this.ids = ids;
  }
}

function typed(name: string): TypedColumn {
  return { name, type: columnTypeOf('events', name) };
}
