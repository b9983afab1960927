import { EVENTS_TABLE, SESSIONS_TABLE } from '../rows.ts';
import type { EraseDeps, RowsRemoved } from './erase.ts';
import { eraseEverywhere } from './erase-everywhere.ts';
import { countRows, deleteRows, sumTables } from './tables.ts';

const DAY_MS = 86_400_000;
/** As for erasures; a third round would find nothing but what came meanwhile. */
const ROUNDS = 2;

/** A site, and before when its history goes, in milliseconds since 1970. */
export interface Retained {
  readonly storedId: string;
  readonly beforeMs: number;
}

/**
 * The midnight (UTC) before which everything goes: whole days, so that sums of hours and days go or stay with their rows.
 * What is younger than `retentionDays` always stays, and nothing is more than two days older.
 */
export function retainedFromMs(retentionDays: number, nowMs: number): number {
  return Math.floor(nowMs / DAY_MS - retentionDays - 1) * DAY_MS;
}

/** Removes what is older than it may be; returns how many rows went, by table. */
export async function enforceRetention(
  parts: EraseDeps,
  { storedId, beforeMs }: Retained,
): Promise<RowsRemoved> {
  const { store } = parts;
  const removed: RowsRemoved = {};
  const site = { site: storedId, before: beforeMs };
  const events = {
    table: EVENTS_TABLE,
    condition: "projectId = {site:String} AND createdAt < fromUnixTimestamp64Milli({before:Int64}, 'UTC')",
    parameters: site,
  };
  // A visit goes when it was over by then: one that goes on is still to change.
  const sessions = {
    table: SESSIONS_TABLE,
    condition: "projectId = {site:String} AND endedAt < fromUnixTimestamp64Milli({before:Int64}, 'UTC')",
    parameters: site,
  };
  for (let round = 1; round <= ROUNDS; round += 1) {
    if ((await countRows(store, events)) + (await countRows(store, sessions)) === 0) break;
    const { flushes } = await eraseEverywhere(parts, [{ projectId: storedId, profileId: null, beforeMs }]);
    for (const rows of [events, sessions]) {
      const count = await deleteRows(store, {
        ...rows,
        condition: `${rows.condition} AND flushNumber <= {flushes:Array(UInt32)}[partition + 1]`,
        parameters: { ...rows.parameters, flushes },
      });
      removed[rows.table] = (removed[rows.table] ?? 0) + count;
    }
    for (const { table, column } of await sumTables(store)) {
      const count = await deleteRows(store, {
        table,
        condition: `projectId = {site:String} AND ${column} < toDateTime({before:UInt32}, 'UTC')`,
        parameters: { site: storedId, before: Math.max(0, beforeMs / 1000) },
      });
      removed[table] = (removed[table] ?? 0) + count;
    }
  }
  return removed;
}
