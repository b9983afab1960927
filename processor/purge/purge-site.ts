import type { Site } from '../../infra/accounts/accounts.ts';
import type { EraseDeps, RowsRemoved } from './erase.ts';
import { eraseEverywhere } from './erase-everywhere.ts';
import { deleteRows, tablesOfSites } from './tables.ts';

/**
 * Collectors hear of a deletion within moments, and what they had accepted by then is on the bus within seconds. Before
 * this long after it nothing is called done.
 */
const STRAGGLERS_MS = 15_000;
const OF_SITE = 'projectId = {site:String}';

/** Says what is being done, and how many rows went so far. */
export type PurgeProgress = (step: string, rowsRemoved: RowsRemoved) => Promise<void>;

/**
 * Removes everything of a site from the memory of all partitions and from every table, again and again until nothing is
 * left; returns how many rows went, by table. Whatever is done twice is harmless.
 */
export async function purgeRows(
  parts: EraseDeps,
  { storedId, deletion }: Pick<Site, 'storedId' | 'deletion'>,
  progress: PurgeProgress,
): Promise<RowsRemoved> {
  const { store, clock } = parts;
  const requestedMs = Date.parse(deletion?.requestedAt ?? '');
  const removed: RowsRemoved = { ...deletion?.rowsRemoved };
  const tables = await tablesOfSites(store);
  const parameters = { site: storedId };
  for (;;) {
    await progress('forgetting what is in memory', removed);
    await eraseEverywhere(parts, [{ projectId: storedId, profileId: null, beforeMs: null }]);
    const isLate = clock.nowMs() - requestedMs >= STRAGGLERS_MS;
    let found = 0;
    for (const table of tables) {
      await progress(`removing rows of ${table}`, removed);
      const count = await deleteRows(store, { table, condition: OF_SITE, parameters });
      if (count > 0) removed[table] = (removed[table] ?? 0) + count;
      found += count;
    }
    // Done when, late enough, there was nothing: in memory since the last round, nor in any table.
    if (found === 0 && isLate) return removed;
    parts.throwIfStopping();
    await new Promise((resolve) => setTimeout(resolve, isLate ? 0 : 1_000));
  }
}
