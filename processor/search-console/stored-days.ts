import type { Store } from '../../infra/store/store.ts';
import { SEARCH_CONSOLE_COLUMNS, SEARCH_CONSOLE_TABLE } from '../rows.ts';
import { type SearchConsoleRow, searchConsoleBytes } from '../search-console.ts';

/** So that a block of rows with long addresses stays within the writer's limit. */
const BLOCK_ROWS = 5_000;
const COLUMNS = SEARCH_CONSOLE_COLUMNS.join(', ');

/** A day that is being fetched. All its rows have the same time of import, and replace rows with an earlier one. */
export interface FetchedDay {
  /** The stored id of the site. */
  readonly site: string;
  readonly day: string;
  readonly importedAtMs: number;
}

/** Stores rows of a day. They replace rows with the same query and page, so a repetition changes nothing. */
export async function storeRows(
  store: Store,
  { site, importedAtMs }: FetchedDay,
  rows: readonly SearchConsoleRow[],
): Promise<void> {
  for (let first = 0; first < rows.length; first += BLOCK_ROWS) {
    const bytes = searchConsoleBytes(site, rows.slice(first, first + BLOCK_ROWS), importedAtMs);
    await store.insertRowBinary(SEARCH_CONSOLE_TABLE, SEARCH_CONSOLE_COLUMNS, [bytes], undefined);
  }
}

/**
 * Withdraws a day's rows that are missing from a complete fetch: preliminary ones that Google took back, and
 * imported ones. A position below 0 marks them, because a deletion would rewrite the table's parts for every site and day.
 */
export async function withdrawEarlierRows(
  store: Store,
  { site, day, importedAtMs }: FetchedDay,
): Promise<void> {
  await store.command(
    `INSERT INTO ${SEARCH_CONSOLE_TABLE} (${COLUMNS})
     SELECT projectId, date, query, page, country, device, 0, 0, -1, fromUnixTimestamp64Milli({at:Int64}, 'UTC')
     FROM ${SEARCH_CONSOLE_TABLE} FINAL
     WHERE projectId = {site:String} AND date = {day:Date} AND position >= 0
         AND toUnixTimestamp64Milli(importedAt) < {at:Int64}`,
    { site, day, at: importedAtMs },
  );
}
