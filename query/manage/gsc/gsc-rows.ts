import type { StoredId } from '../../../infra/accounts/ids.ts';
import type { Store } from '../../../infra/store/store.ts';
import { StoreError } from '../../../infra/store/store-error.ts';
import type { PerShard } from '../../../infra/store/store-shards.ts';
import { SEARCH_CONSOLE_COLUMNS, SEARCH_CONSOLE_TABLE } from '../../../processor/rows.ts';
import { searchConsoleBytes } from '../../../processor/search-console.ts';
import { RejectError } from '../../reject.ts';
import { StoreAwayError } from '../../snapshot/store-rejects.ts';
import type { ImportedShown, SearchConsoleRow } from './gsc-api.ts';

/** A shard of the store, and whether it can be reached, so that requests do not wait for a hanging store. */
export interface RowStore {
  readonly store: Pick<Store, 'query' | 'insertRowBinary'>;
  readonly isStoreReachable: () => boolean;
}

/** The stores to which rows of sites are written. */
export interface RowStores {
  readonly rowStores: PerShard<RowStore>;
}

/**
 * Stores rows of a site, by its stored id; resolves once they are durable. Rows with the same key replace earlier ones,
 * so a failed request can be repeated. Throws a `RejectError` while the store is unreachable.
 */
export async function insertRows(
  { rowStores }: RowStores,
  site: StoredId,
  { rows, importedAtMs }: { readonly rows: readonly SearchConsoleRow[]; readonly importedAtMs: number },
): Promise<void> {
  const bytes = searchConsoleBytes(site, rows, importedAtMs);
  await withStore(rowStores.ofSite(site), (store) =>
    store.insertRowBinary(SEARCH_CONSOLE_TABLE, SEARCH_CONSOLE_COLUMNS, [bytes], undefined),
  );
}

/** The extent of a site's rows. Throws a `RejectError` while the store is unreachable. */
export async function importedRows({ rowStores }: RowStores, site: StoredId): Promise<ImportedShown> {
  const [found] = await withStore(rowStores.ofSite(site), (store) =>
    store.query<{ rows: number; firstDate: string; lastDate: string; lastImportMs: number }>(
      `SELECT count() AS rows, min(date) AS firstDate, max(date) AS lastDate,
              max(toUnixTimestamp64Milli(importedAt)) AS lastImportMs
       FROM ${SEARCH_CONSOLE_TABLE} FINAL WHERE projectId = {site:String} AND position >= 0`,
      { site },
    ),
  );
  if (found === undefined || found.rows === 0)
    return { lastImportAt: null, firstDate: null, lastDate: null, rows: 0 };
  const { rows, firstDate, lastDate, lastImportMs } = found;
  return { lastImportAt: new Date(lastImportMs).toISOString(), firstDate, lastDate, rows };
}

async function withStore<Result>(
  { store, isStoreReachable }: RowStore,
  ask: (store: RowStore['store']) => Promise<Result>,
): Promise<Result> {
  if (!isStoreReachable()) throw new StoreAwayError(undefined);
  try {
    return await ask(store);
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== 'retryable') throw error;
    if (error.code === undefined) throw new StoreAwayError(error);
    throw new RejectError('busy', 'the store is busy; try again', error);
  }
}
