import type { Site } from '../../infra/accounts/accounts.ts';
import type { StoredId } from '../../infra/accounts/ids.ts';
import type { EraseDeps, RowsRemoved } from './erase.ts';
import { type ErasedUpTo, PostponedError } from './lane-eraser.ts';
import { deleteRows, tablesOfSites } from './tables.ts';

/**
 * Collectors learn of a deletion within moments, and the events they accepted before are on the bus within seconds. A purge is not done
 * before this long after the request, or after a later request with `now`, at which the site's feed ends.
 */
const STRAGGLERS_MS = 15_000;
const STRAGGLERS_WAIT_MS = 1_000;
const OF_SITE = 'projectId = {site:String}';

/** Publishes the present step and the rows removed so far. */
export type ReportPurgeStep = (step: string, rowsRemoved: RowsRemoved) => Promise<void>;

/**
 * Removes everything of a site from the memory of all lanes and from every table, in rounds until nothing is left;
 * returns the removed rows by table. A repetition is harmless.
 */
export async function purgeRows(
  deps: EraseDeps,
  { storedId, deletion }: Pick<Site, 'storedId' | 'deletion'>,
  progress: ReportPurgeStep,
): Promise<RowsRemoved> {
  const { store } = deps;
  const requestedMs = Date.parse((deletion?.isFinal ? deletion.purgeAt : deletion?.requestedAt) ?? '');
  const removed: RowsRemoved = { ...deletion?.rowsRemoved };
  const tables = await tablesOfSites(store);
  const parameters = { site: storedId };
  for (;;) {
    await progress('erasing from memory', removed);
    const { sentAtMs } = await eraseFromMemory(deps, storedId, (step) => progress(step, removed));
    const isLate = sentAtMs - requestedMs >= STRAGGLERS_MS;
    let found = 0;
    for (const table of tables) {
      await progress(`removing rows of ${table}`, removed);
      const count = await deleteRows(store, { table, condition: OF_SITE, parameters });
      if (count > 0) removed[table] = (removed[table] ?? 0) + count;
      found += count;
    }
    // Done when a round that began late enough found nothing in any table.
    if (found === 0 && isLate) return removed;
    deps.job.throwIfOver();
    if (!isLate) await deps.job.sleep(STRAGGLERS_WAIT_MS);
  }
}

async function eraseFromMemory(
  { eraser }: EraseDeps,
  storedId: StoredId,
  showStep: (step: string) => Promise<void>,
): Promise<ErasedUpTo> {
  try {
    return await eraser.erase([{ projectId: storedId, profileId: null, beforeMs: null }]);
  } catch (error) {
    if (error instanceof PostponedError) await showStep('waiting for a lane that does not answer');
    throw error;
  }
}
