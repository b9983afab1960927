import type { Store, StoreParameters } from '../../infra/store/store.ts';

/** The tables that hold rows of sites: every table with a column `projectId`, so none is ever left out. */
export async function tablesOfSites(store: Store): Promise<readonly string[]> {
  const rows = await store.query<{ table: string }>(
    `SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'projectId' ORDER BY table`,
  );
  return rows.map(({ table }) => table);
}

/** A rollup table, and the column that names the hour or day. */
export interface RollupTable {
  readonly table: string;
  readonly column: 'hour' | 'day';
}

/** The rollup tables: those that have blocks and are not announcements. */
export async function rollupTables(store: Store): Promise<readonly RollupTable[]> {
  const rows = await store.query<{ table: string; columns: string[] }>(
    `SELECT table, groupArray(name) AS columns FROM system.columns
     WHERE database = currentDatabase() GROUP BY table
     HAVING has(columns, 'projectId') AND has(columns, 'block') AND NOT has(columns, 'flushed') ORDER BY table`,
  );
  return rows.map(({ table, columns }) => ({ table, column: columns.includes('hour') ? 'hour' : 'day' }));
}

/** Rows of a table. The condition is constant text; values are bound. */
export interface RowsOf {
  readonly table: string;
  readonly condition: string;
  readonly parameters: StoreParameters;
}

export async function countRows(store: Store, { table, condition, parameters }: RowsOf): Promise<number> {
  const rows = await store.query<{ rows: number }>(
    `SELECT count() AS rows FROM ${table} WHERE ${condition}`,
    parameters,
  );
  return rows[0]?.rows ?? 0;
}

/** Removes the sender's answer from an order. The order stays, because each counts once for ever. */
export const CLEAR_ANSWER = 'UPDATE answered = []';
/** The orders of a site that contain the answers to their senders. */
export const ANSWERED = 'projectId = {site:String} AND notEmpty(answered)';

/** Changes rows for good, as `CLEAR_ANSWER` says. A table without such rows is not touched. */
export async function changeRows(store: Store, rows: RowsOf, change: string): Promise<number> {
  const { table, condition, parameters } = rows;
  const count = await countRows(store, rows);
  if (count > 0) await store.mutate({ sql: `ALTER TABLE ${table} ${change} WHERE ${condition}`, parameters });
  return count;
}

/** Removes rows for good; returns their number. A table without such rows is not touched. */
export async function deleteRows(store: Store, rows: RowsOf): Promise<number> {
  return changeRows(store, rows, 'DELETE');
}
