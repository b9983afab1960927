import { LRUCache } from 'lru-cache';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { HOT_EVENTS } from './event-columns.ts';
import type { HotRows } from './hot-rows.ts';
import { type RowOfValues, RowScan, RowShape } from './row-values.ts';

/** Rows with every listed column, of all sites: one or two pages for each site that is looked at. About two kilobytes each. */
const ROWS_MAX = 5_000;
/** A longer page would evict the pages of others. */
const PAGE_MAX = 100;
const ALL_COLUMNS = new RowShape(HOT_EVENTS, new Set(HOT_EVENTS.map(({ name }) => name)));

type ListedEvent = AnswerRow<'event-list'>;

/**
 * Events with all columns of lists, which are not held of every event. An event never changes, so a row from the store
 * or an owner's memory serves every later page.
 */
export class ListedEvents {
  readonly #rows = new LRUCache<string, ListedEvent>({ max: ROWS_MAX });

  /** A page of this length may be answered from here. */
  isListed(limit: number | undefined): boolean {
    return (limit ?? 0) <= PAGE_MAX;
  }

  get(site: StoredId, columns: string, id: string): ListedEvent | undefined {
    return this.#rows.get(`${site} ${columns} ${id}`);
  }

  /** Notes the rows of a store's answer. */
  note(site: StoredId, columns: string, rows: readonly object[]): void {
    if (rows.length > PAGE_MAX) return;
    for (const row of rows) if (isListedEvent(row)) this.#rows.set(`${site} ${columns} ${row.id}`, row);
  }

  noteHot(site: StoredId, columns: string, hot: readonly HotRows[]): void {
    const names = columns.split(', ');
    for (const { events } of hot) {
      new RowScan(events, ALL_COLUMNS).visit(Number.POSITIVE_INFINITY, (values) => {
        const row = rowOf(values, names);
        if (values.projectId === site) this.#rows.set(`${site} ${columns} ${row.id}`, row);
      });
    }
  }

  evict(site: StoredId): void {
    deleteKeys(this.#rows, `${site} `);
  }
}

function isListedEvent(row: object): row is ListedEvent {
  return 'id' in row && 'createdAt' in row;
}

/** A row as `event-list.sql` writes it. */
function rowOf(values: RowOfValues, names: readonly string[]): ListedEvent {
  const row: Record<string, unknown> = {};
  for (const name of names) {
    const value = values[name];
    const isId = name === 'id' || name === 'sessionId';
    row[name] = isId
      ? Buffer.from(String(value), 'latin1').toString('hex')
      : name === 'revenue'
        ? String(value)
        : value;
  }
  // Written by column: the statement names the columns of a listed event.
  return row as ListedEvent;
}
