import type { Store } from '../../infra/store/store.ts';
import {
  type AppliedMigration,
  BACKED_TABLES,
  INSTANT_PREFIX,
  instantTable,
  RESTORED_PREFIX,
  ROLLUP_NOTES,
  restoredTable,
} from '../backups.ts';

/** The tables have columns of numbers with few values, which the store makes only with these settings. */
const AS_THEY_ARE = { allow_suspicious_low_cardinality_types: 1, allow_suspicious_indices: 1 };
/** Two inserts of equal rows are two; without a partition key a table has one partition of this name. */
const WHOLE = "PARTITION ID 'all'";
/**
 * An interrupted backup can be repeated within this time; then the copies are dropped, because they may contain data that was erased
 * meanwhile.
 */
const INSTANT_AGE_MAX_S = 86_400;

/** Makes empty tables for an instant, and drops the tables of earlier ones: there is one backup at a time. */
export async function openInstant(store: Store, backupId: string): Promise<void> {
  await dropTables(store, INSTANT_PREFIX);
  for (const { name } of BACKED_TABLES) await makeLike(store, instantTable(backupId, name), name);
}

/**
 * Keeps the present rows of the tables. The store links the files of their parts and copies none, so the time does not depend on their
 * size, and room is needed only for rows that are merged or removed later.
 */
export async function keepInstant(store: Store, backupId: string): Promise<void> {
  for (const { name } of BACKED_TABLES) {
    const instant = instantTable(backupId, name);
    // The replica that runs the command takes its own rows, and the others follow.
    await store.settle(name);
    await store.command(`ALTER TABLE ${instant} ATTACH ${WHOLE} FROM ${name}`);
    await store.settle(instant);
  }
}

/** Drops the tables of an instant, if they exist. */
export async function dropInstant(store: Store, backupId: string): Promise<void> {
  await dropTables(store, instantTable(backupId, ''));
}

/** Drops instants that no backup has read to its end within a day. */
export async function dropOldInstants(store: Store): Promise<void> {
  await dropTables(
    store,
    INSTANT_PREFIX,
    `AND metadata_modification_time < now() - INTERVAL ${INSTANT_AGE_MAX_S} SECOND`,
  );
}

/** The first of our tables that has rows; undefined for a store that was never used. */
export async function usedTable(store: Store): Promise<string | undefined> {
  for (const table of [...BACKED_TABLES.map(({ name }) => name), ...ROLLUP_NOTES]) {
    const rows = await store.query(`SELECT 1 AS found FROM ${table} LIMIT 1`);
    if (rows.length > 0) return table;
  }
  return undefined;
}

/** Makes the empty tables of an attempt to restore, and drops the tables of earlier ones with all their rows. */
export async function openRestored(store: Store, attempt: string): Promise<void> {
  await dropTables(store, RESTORED_PREFIX);
  for (const { name } of BACKED_TABLES) await makeLike(store, restoredTable(attempt, name), name);
}

/**
 * Replaces the rows of the service by the rows of an attempt. Each table changes atomically, and a repeated call changes nothing. Sessions
 * come last, as in a flush.
 */
export async function switchTables(store: Store, attempt: string, afterTable: () => void): Promise<void> {
  const names = BACKED_TABLES.map(({ name }) => name).filter((name) => name !== 'sessions');
  for (const name of [...names, 'sessions']) {
    const source = restoredTable(attempt, name);
    // The store refuses to replace rows by none.
    if ((await store.query(`SELECT 1 AS found FROM ${source} LIMIT 1`)).length === 0) continue;
    await store.settle(source);
    await store.command(`ALTER TABLE ${name} REPLACE ${WHOLE} FROM ${source}`);
    await store.settle(name);
    afterTable();
  }
}

/** Drops the tables of all attempts to restore. */
export async function dropRestored(store: Store): Promise<void> {
  await dropTables(store, RESTORED_PREFIX);
}

/** The files of `schema/` that were applied. */
export async function appliedMigrations(store: Store): Promise<readonly AppliedMigration[]> {
  return store.query<AppliedMigration>('SELECT name, hash FROM schema_migrations FINAL ORDER BY name');
}

/** Makes an empty table with the columns, keys and constraints of another one. */
export async function makeLike(store: Store, table: string, like: string): Promise<void> {
  await store.defineLike(table, like, AS_THEY_ARE);
}

async function dropTables(store: Store, prefix: string, condition = ''): Promise<void> {
  const tables = await store.query<{ name: string }>(
    `SELECT name FROM system.tables
     WHERE database = currentDatabase() AND startsWith(name, {prefix:String}) ${condition}`,
    { prefix },
  );
  for (const { name } of tables) await store.define(`DROP TABLE IF EXISTS ${name} SYNC`);
}
