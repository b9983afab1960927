import type { StoredId } from '../../infra/accounts/ids.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { EVENTS_TABLE, SESSIONS_TABLE } from '../rows.ts';
import type { EraseDeps, RowsRemoved } from './erase.ts';
import { type ErasedUpTo, PostponedError } from './lane-eraser.ts';
import {
  ANSWERED,
  CLEAR_ANSWER,
  changeRows,
  countRows,
  deleteRows,
  type RowsOf,
  rollupTables,
} from './tables.ts';

/** Two, for the reason given in erase.ts; a third would find only rows that came in the meantime. */
const ROUNDS = 2;

/** A site, and the time before which its history is removed, in milliseconds since 1970. */
export interface RetentionCut {
  readonly storedId: StoredId;
  readonly beforeMs: number;
}

/**
 * The midnight (UTC) before which everything goes. Whole days, so that rollups of hours and days go or stay with their
 * rows: everything younger than `retentionDays` stays, and nothing is more than two days older.
 */
export function retainedFromMs(retentionDays: number, nowMs: number): number {
  return Math.floor(nowMs / DAY_MS - retentionDays - 1) * DAY_MS;
}

export interface RetentionResult {
  /** By table. */
  readonly rowsRemoved: RowsRemoved;
  /** Rows of some lanes are still there, because these lanes have not erased. */
  readonly isPostponed: boolean;
}

/**
 * Removes history that is older than the site retains. Lanes are independent, so rows of lanes that have erased are removed even while
 * others are stuck. Rollups cover all lanes, so they go last.
 */
export async function enforceRetention(deps: EraseDeps, cut: RetentionCut): Promise<RetentionResult> {
  const { store } = deps;
  const rowsRemoved: RowsRemoved = {};
  const remove = async (rows: RowsOf) => {
    rowsRemoved[rows.table] = (rowsRemoved[rows.table] ?? 0) + (await deleteRows(store, rows));
  };
  const answers = {
    table: 'orders',
    condition: `${ANSWERED} AND updatedAt < fromUnixTimestamp64Milli({before:Int64}, 'UTC')`,
    parameters: { site: cut.storedId, before: cut.beforeMs },
  };
  await changeRows(store, answers, CLEAR_ANSWER);
  const tables = oldRows(cut);
  for (let round = 1; round <= ROUNDS; round += 1) {
    const counts = await Promise.all(tables.map((rows) => countRows(store, rows)));
    if (counts.every((count) => count === 0)) break;
    const { flushes, isPostponed } = await eraseOld(deps, cut);
    for (const rows of tables) {
      const condition = `${rows.condition} AND flushNumber <= {flushes:Array(UInt32)}[partition + 1]`;
      await remove({ ...rows, condition, parameters: { ...rows.parameters, flushes } });
    }
    if (isPostponed) return { rowsRemoved, isPostponed };
    // A session that continued after its newest event of then reaches over a midnight, so its counts are not used anyway.
    await remove(rowsBefore(cut, 'thinned_sessions', 'endedAt'));
    for (const { table, column } of await rollupTables(store)) {
      await remove({
        table,
        condition: `projectId = {site:String} AND ${column} < toDateTime({before:UInt32}, 'UTC')`,
        parameters: { site: cut.storedId, before: Math.max(0, cut.beforeMs / 1000) },
      });
    }
  }
  return { rowsRemoved, isPostponed: false };
}

/** The rows that are too old. A session is too old only if it has ended by then: one that continues will still change. */
function oldRows(cut: RetentionCut): readonly RowsOf[] {
  return [rowsBefore(cut, EVENTS_TABLE, 'createdAt'), rowsBefore(cut, SESSIONS_TABLE, 'endedAt')];
}

function rowsBefore({ storedId, beforeMs }: RetentionCut, table: string, time: string): RowsOf {
  return {
    table,
    condition: `projectId = {site:String} AND ${time} < fromUnixTimestamp64Milli({before:Int64}, 'UTC')`,
    parameters: { site: storedId, before: beforeMs },
  };
}

async function eraseOld(
  { eraser }: EraseDeps,
  { storedId, beforeMs }: RetentionCut,
): Promise<Pick<ErasedUpTo, 'flushes'> & { readonly isPostponed: boolean }> {
  try {
    const { flushes } = await eraser.erase([{ projectId: storedId, profileId: null, beforeMs }]);
    return { flushes, isPostponed: false };
  } catch (error) {
    if (!(error instanceof PostponedError) || error.reason === 'answer-lost') throw error;
    return { flushes: error.erased?.flushes ?? [], isPostponed: true };
  }
}
