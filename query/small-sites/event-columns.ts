import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { columnTypeOf, EVENTS_COLUMNS } from '../../processor/rows.ts';
import type { RowOfValues, TypedColumn } from './row-values.ts';
import type { TextCodes } from './text-codes.ts';

/** The columns of events that are held in memory, in the order in which the store is asked for them. */
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

/** Amounts up to this size add up exactly, however many events of a small site there are. */
export const AMOUNT_MAX = 2 ** 33;

/** The dictionaries of a site. Devices and profiles share one, because equal texts are one visitor. */
export interface SiteTexts {
  readonly visitors: TextCodes;
  readonly words: TextCodes;
}

const NUMBERS = ['session', 'device', 'profile', 'currency', 'name', 'origin', 'path', 'title'] as const;
type NumberColumn = (typeof NUMBERS)[number];

/** Events of one site in columns. A row is a place in all of them. */
export class EventColumns {
  length = 0;
  at = new Float64Array(1024);
  amount = new Float64Array(1024);
  isSynthetic = new Uint8Array(1024);
  /** 16 bytes a row. */
  ids = Buffer.alloc(16 * 1024);
  session = new Int32Array(1024);
  device = new Int32Array(1024);
  profile = new Int32Array(1024);
  currency = new Int32Array(1024);
  name = new Int32Array(1024);
  origin = new Int32Array(1024);
  path = new Int32Array(1024);
  title = new Int32Array(1024);
  readonly #texts: SiteTexts;

  constructor(texts: SiteTexts) {
    this.#texts = texts;
  }

  /** Adds a row; `session` is the slot of its session, -1 for none. */
  add(row: RowOfValues, session: number): void {
    const at = this.length;
    if (at === this.at.length) this.#grow();
    const { visitors, words } = this.#texts;
    const name = String(row.name);
    this.at[at] = Number(row.createdAt);
    this.amount[at] = Number(row.revenue);
    this.isSynthetic[at] = name === SESSION_START || name === SESSION_END ? 1 : 0;
    this.ids.write(String(row.id), at * 16, 16, 'latin1');
    this.session[at] = session;
    this.device[at] = visitors.codeOf(String(row.deviceId));
    this.profile[at] = visitors.codeOf(String(row.profileId));
    this.currency[at] = words.codeOf(String(row.currency));
    this.name[at] = words.codeOf(name);
    this.origin[at] = words.codeOf(String(row.origin));
    this.path[at] = words.codeOf(String(row.path));
    this.title[at] = words.codeOf(String(row.title));
    this.length = at + 1;
  }

  /** Whether the first row is newer than the second: by time, then by id, as the store orders them. */
  isNewer(one: number, other: number): boolean {
    const [a = 0, b = 0] = [this.at[one], this.at[other]];
    return a === b ? this.compareIds(one, other) > 0 : a > b;
  }

  compareIds(one: number, other: number): number {
    return this.ids.compare(this.ids, other * 16, other * 16 + 16, one * 16, one * 16 + 16);
  }

  #grow(): void {
    const size = this.at.length * 2;
    const grown = <Column extends Float64Array | Uint8Array | Int32Array>(made: Column, from: Column) => {
      made.set(from);
      return made;
    };
    this.at = grown(new Float64Array(size), this.at);
    this.amount = grown(new Float64Array(size), this.amount);
    this.isSynthetic = grown(new Uint8Array(size), this.isSynthetic);
    const ids = Buffer.alloc(size * 16);
    this.ids.copy(ids);
    this.ids = ids;
    for (const column of NUMBERS satisfies readonly NumberColumn[])
      this[column] = grown(new Int32Array(size), this[column]);
  }
}

function typed(name: string): TypedColumn {
  return { name, type: columnTypeOf('events', name) };
}
