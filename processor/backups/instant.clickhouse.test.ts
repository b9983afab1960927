import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../infra/log.ts';
import { CRASH_POINTS } from '../../infra/process/crashpoint.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { Store } from '../../infra/store/store.ts';
import { PerShard } from '../../infra/store/store-shards.ts';
import { type StoreTarget, startStoreTarget } from '../../infra/testing/store-target.ts';
import { BACKED_TABLES, instantTable, restoredTable } from '../backups.ts';
import {
  dropOldInstants,
  dropRestored,
  keepInstant,
  openInstant,
  openRestored,
  switchTables,
  usedTable,
} from './instant.ts';
import { finishRestore } from './lane-backups.ts';

/** Tables whose rows a backup does not have, each with the reason. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  schema_migrations: 'the manifest names them',
  erasing: 'an unfinished erasure begins again',
  late_hours: 'rollups are made again',
  rollup_blocks: 'rollups are made again',
  rollup_days: 'rollups are made again',
  hourly_totals: 'rollups are made again',
  hourly_pages: 'rollups are made again',
  daily_pages: 'rollups are made again',
  daily_sources: 'rollups are made again',
  daily_places: 'rollups are made again',
  daily_devices: 'rollups are made again',
  daily_locales: 'rollups are made again',
  daily_names: 'rollups are made again',
};

let target: StoreTarget;
let store: Store;

beforeAll(async () => {
  target = await startStoreTarget({ database: 'footfall' });
  const { url, database, cluster } = target;
  store = new Store({ url, database, cluster, requestTimeoutMs: 30_000 });
  await migrate(store, join(projectRoot, 'processor/schema'));
});
afterAll(async () => {
  await store.close();
  await target.stop();
});

async function tables(prefix = ''): Promise<readonly string[]> {
  const rows = await store.query<{ name: string }>(
    `SELECT name FROM system.tables
     WHERE database = currentDatabase() AND startsWith(name, {prefix:String}) ORDER BY name`,
    { prefix },
  );
  return rows.map(({ name }) => name);
}

async function idsOf(table: string): Promise<readonly string[]> {
  const rows = await store.query<{ id: string }>(`SELECT id FROM ${table} ORDER BY id`);
  return rows.map(({ id }) => id);
}

const addOrder = (id: string) =>
  store.command("INSERT INTO orders (projectId, id, version) VALUES ('a', {id:String}, 1)", { id });

test('every table is in a backup, or left out for a reason', async () => {
  const known = [...BACKED_TABLES.map(({ name }) => name), ...Object.keys(LEFT_OUT)];
  expect(await tables()).toEqual(known.sort());
});

test('an instant stays as it is, one at a time, and a day at the most', async () => {
  expect(await usedTable(store)).toBeUndefined();
  await addOrder('first');
  expect(await usedTable(store)).toBe('orders');
  await openInstant(store, 'aaaaaaaa');
  await keepInstant(store, 'aaaaaaaa');
  await addOrder('second');
  await store.command("ALTER TABLE orders DELETE WHERE id = 'first'", {}, { mutations_sync: 2 });
  expect(await idsOf(instantTable('aaaaaaaa', 'orders'))).toEqual(['first']);
  await openInstant(store, 'bbbbbbbb');
  await keepInstant(store, 'bbbbbbbb');
  expect(await tables('backup_')).toEqual(
    BACKED_TABLES.map(({ name }) => instantTable('bbbbbbbb', name)).sort(),
  );
  expect(await idsOf(instantTable('bbbbbbbb', 'orders'))).toEqual(['second']);
  await dropOldInstants(store);
  expect(await tables('backup_')).toHaveLength(BACKED_TABLES.length);
});

test('tables are switched as often as one likes, and an attempt takes nothing of another', async () => {
  await openRestored(store, 'aaaaaaaa');
  await store.command(
    `INSERT INTO ${restoredTable('aaaaaaaa', 'orders')} (projectId, id) VALUES ('a', 'lost')`,
  );
  await openRestored(store, 'bbbbbbbb');
  expect(await tables('restored_')).toHaveLength(BACKED_TABLES.length);
  await store.command(
    `INSERT INTO ${restoredTable('bbbbbbbb', 'orders')} (projectId, id) VALUES ('a', 'kept')`,
  );
  const switched: string[] = [];
  for (let repeat = 0; repeat < 2; repeat += 1) {
    await switchTables(store, 'bbbbbbbb', () => switched.push('orders'));
    expect(await idsOf('orders')).toEqual(['kept']);
  }
  expect(switched).toEqual(['orders', 'orders']);
  await dropRestored(store);
  expect(await tables('restored_')).toEqual([]);
  expect(await idsOf('orders')).toEqual(['kept']);
});

test.each(CRASH_POINTS.filter((point) => point.startsWith('restore:')))(
  'rows are adopted once, also when the owner dies at %s and the next one begins again',
  async (deadly) => {
    await openRestored(store, 'cccccccc');
    for (const table of ['orders', 'groups'])
      await store.command(
        `INSERT INTO ${restoredTable('cccccccc', table)} (projectId, id) VALUES ('a', {id:String})`,
        { id: deadly },
      );
    let [isDead, completed] = [false, 0];
    const finish = () =>
      finishRestore(
        {
          stores: new PerShard([store]),
          log: createLogger('test', 'silent'),
          crashPoint: (point) => {
            if (point !== deadly || isDead) return;
            isDead = true;
            throw new Error('the owner dies');
          },
        },
        { attempt: 'cccccccc', backupId: 'dddddddd' },
        async () => {
          completed += 1;
        },
      );
    await expect(finish()).rejects.toThrow('the owner dies');
    await finish();
    for (const table of ['orders', 'groups']) expect(await idsOf(table)).toEqual([deadly]);
    expect(completed).toBe(deadly === 'restore:after-checkpoint' ? 2 : 1);
    expect(await tables('restored_')).toEqual([]);
  },
);
