import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Store } from '../../infra/store/store.ts';
import { type Connection, connectionKeyOf, type Sync } from '../search-console.ts';
import type { GoogleClient } from './google-client.ts';
import { GoogleError } from './google-failure.ts';
import { storeRows, withdrawEarlierRows } from './stored-days.ts';
import type { SyncMetrics } from './sync-metrics.ts';
import { type DueWork, settledDay } from './sync-plan.ts';
import { type StoredSync, writeSync } from './sync-records.ts';

/** Google's maximum for one answer; for the rows of a day Google has a lower limit. */
export const PAGE_ROWS = 25_000;
/** Google has at most 50,000 rows of a day. More pages than these are an endless answer. */
const PAGES_MAX = 20;

export interface StepDeps {
  readonly store: Store;
  readonly syncs: KeyedBytes;
  readonly clock: Clock;
  readonly client: Pick<GoogleClient, 'rows'>;
  readonly metrics: SyncMetrics;
  readonly pageRows: number;
  /** Throws where the work has to end: the process stops, or the site is disconnected or being deleted. */
  readonly throwIfOver: () => void;
}

interface DayOutcome {
  readonly rows: number;
  readonly firstIncomplete: string | undefined;
}

/**
 * Fetches the days that are due, and writes the record after each day that need not be fetched again: a killed process repeats a day at
 * most, whose rows replace each other. Returns the record as it is stored then.
 * @throws {GoogleError} the failure of Google or of its answer
 */
export async function runStep(
  deps: StepDeps,
  connection: Connection,
  { sync, revision }: StoredSync & { readonly sync: Sync },
  work: Exclude<DueWork, { kind: 'wait' }>,
): Promise<StoredSync & { readonly sync: Sync }> {
  const key = connectionKeyOf(connection.storedId);
  let stored = { sync, revision };
  const write = async (change: Partial<Sync>) => {
    const next = { ...stored.sync, ...change, triedAs: connection.updatedAt, failure: null };
    stored = {
      sync: next,
      revision: await writeSync(deps.syncs, key, { sync: next, revision: stored.revision }),
    };
  };
  if (work.kind === 'backfill') {
    const { rows } = await fetchDay(deps, connection, work.day);
    const { backfill } = stored.sync;
    await write({
      rows: stored.sync.rows + rows,
      backfill: { ...backfill, daysDone: backfill.daysDone + 1 },
    });
    return stored;
  }
  let firstIncomplete: string | undefined;
  const nowMs = deps.clock.nowMs();
  for (const day of work.days) {
    const fetched = await fetchDay(deps, connection, day);
    firstIncomplete = firstOf(firstIncomplete, fetched.firstIncomplete);
    const settledThrough = settledDay(stored.sync, { nowMs, firstIncomplete });
    const rows = stored.sync.rows + fetched.rows;
    if (day <= settledThrough) await write({ rows, settledThrough: day, lastDay: day });
    else stored = { ...stored, sync: { ...stored.sync, rows } };
  }
  const lastDay = work.days.at(-1) ?? stored.sync.lastDay;
  await write({ lastDay, lastSyncedAt: new Date(nowMs).toISOString() });
  deps.metrics.successes.add();
  return stored;
}

/** Fetches all rows of a day and stores them page by page. Rows of an incomplete fetch stay until the next one. */
async function fetchDay(deps: StepDeps, connection: Connection, day: string): Promise<DayOutcome> {
  const { store, client, clock, metrics, pageRows, throwIfOver } = deps;
  const { storedId: site, siteUrl } = connection;
  const fetched = { site, day, importedAtMs: clock.nowMs() };
  let rows = 0;
  let firstIncomplete: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    throwIfOver();
    const answer = await client.rows({ siteUrl, day, startRow: page * pageRows, rowLimit: pageRows });
    throwIfOver();
    if (answer.rows.some(({ date }) => date !== day))
      throw new GoogleError('failed', 'a row of another day', {});
    await storeRows(store, fetched, answer.rows);
    rows += answer.rows.length;
    metrics.rows.add(answer.rows.length);
    firstIncomplete = firstOf(firstIncomplete, answer.firstIncompleteDate);
    if (answer.rows.length < pageRows) {
      // A day without rows says nothing about imported ones: Google may no longer have rows of that time.
      if (rows > 0) await withdrawEarlierRows(store, fetched);
      return { rows, firstIncomplete };
    }
  }
  throw new GoogleError('failed', `more than ${PAGES_MAX} pages of a day`, {});
}

function firstOf(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}
