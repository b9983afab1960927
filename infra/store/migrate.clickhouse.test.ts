import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type StoreTarget, startStoreTarget } from '../testing/store-target.ts';
import { MigrationError, migrate, statements } from './migrate.ts';
import { Store } from './store.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'footfall-migrate-'));
let target: StoreTarget;

beforeAll(async () => {
  target = await startStoreTarget();
});
afterAll(async () => {
  await target?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Creates a folder of files and a store on its own database. */
async function withFiles(
  database: string,
  files: Readonly<Record<string, string>>,
  run: (store: Store, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(dataDir, 'files-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { url, cluster } = target;
  const store = new Store({ url, database: target.beside(database), cluster, requestTimeoutMs: 30_000 });
  try {
    await run(store, folder);
  } finally {
    await store.close();
  }
}

const TWO_FILES = {
  '002_rows.sql': "INSERT INTO a SELECT number, 'x;y' FROM numbers(3);\n",
  '001_tables.sql':
    '-- two tables; with a comment\nCREATE TABLE a (n UInt64, s String)\nENGINE = MergeTree ORDER BY n;\n\nCREATE TABLE b (n UInt64) ENGINE = MergeTree ORDER BY n; \n-- the end\n',
  'README.md': 'no SQL;\n',
};

describe('migrations', () => {
  test('files are applied in the order of their names, once each', () =>
    withFiles('once', TWO_FILES, async (store, folder) => {
      expect(await migrate(store, folder)).toEqual(['001_tables.sql', '002_rows.sql']);
      expect(await migrate(store, folder)).toEqual([]);
      expect(await store.query('SELECT n, s FROM a ORDER BY n')).toEqual([
        { n: 0, s: 'x;y' },
        { n: 1, s: 'x;y' },
        { n: 2, s: 'x;y' },
      ]);
      writeFileSync(join(folder, '003_more.sql'), 'INSERT INTO b SELECT 7;');
      expect(await migrate(store, folder)).toEqual(['003_more.sql']);
      expect(await store.query('SELECT n FROM b')).toEqual([{ n: 7 }]);
    }));

  test('a file changed after it was applied is rejected by name, and nothing else is applied', () =>
    withFiles('changed', TWO_FILES, async (store, folder) => {
      await migrate(store, folder);
      writeFileSync(join(folder, '002_rows.sql'), 'INSERT INTO a SELECT 9;');
      writeFileSync(join(folder, '003_more.sql'), 'INSERT INTO b SELECT 7;');
      const failure = await migrate(store, folder).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(MigrationError);
      expect(String(failure)).toContain('002_rows.sql was changed');
      expect(await store.query('SELECT count() AS rows FROM b')).toEqual([{ rows: 0 }]);
    }));

  test('a file that fails is not recorded, and is applied again later', () =>
    withFiles(
      'fails',
      {
        '001_bad.sql': 'CREATE TABLE IF NOT EXISTS c (n UInt8) ENGINE = MergeTree ORDER BY n;\nSELECT nope;',
      },
      async (store, folder) => {
        await expect(migrate(store, folder)).rejects.toMatchObject({ kind: 'fatal', code: 47 });
        writeFileSync(
          join(folder, '001_bad.sql'),
          'CREATE TABLE IF NOT EXISTS c (n UInt8) ENGINE = MergeTree ORDER BY n;',
        );
        expect(await migrate(store, folder)).toEqual(['001_bad.sql']);
      },
    ));

  test('a release runs with the files of a later one that say so, and with no other', () =>
    withFiles('later', TWO_FILES, async (store, folder) => {
      await migrate(store, folder);
      const later = mkdtempSync(join(dataDir, 'later-'));
      cpSync(folder, later, { recursive: true });
      writeFileSync(join(later, '003_more.sql'), '-- Runs beside: 002_rows.sql\nINSERT INTO b SELECT 7;');
      expect(await migrate(store, later)).toEqual(['003_more.sql']);
      expect(await migrate(store, folder)).toEqual([]);
      // The release before that lacks a file which the new one needs.
      rmSync(join(folder, '002_rows.sql'));
      const tooOld = await migrate(store, folder).catch((error: unknown) => error);
      expect(String(tooOld)).toContain(`002_rows.sql was applied to ${store.database} by a later release`);
      // A file without a mark requires that every release knows it.
      writeFileSync(join(later, '004_last.sql'), 'INSERT INTO b SELECT 8;');
      expect(await migrate(store, later)).toEqual(['004_last.sql']);
      rmSync(join(later, '004_last.sql'));
      const failure = await migrate(store, later).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(MigrationError);
      expect(String(failure)).toContain('one that has 004_last.sql');
      // One that is missing among others is no release at all.
      rmSync(join(later, '002_rows.sql'));
      expect(String(await migrate(store, later).catch(String))).toContain(
        `002_rows.sql was applied to ${store.database} but`,
      );
    }));

  test('a store with files from before the first one is refused with what to do, and nothing is applied', () =>
    withFiles('former', TWO_FILES, async (store, folder) => {
      await migrate(store, folder);
      const baseline = mkdtempSync(join(dataDir, 'baseline-'));
      writeFileSync(
        join(baseline, '100_tables.sql'),
        'CREATE TABLE d (n UInt8) ENGINE = MergeTree ORDER BY n;',
      );
      const failure = await migrate(store, baseline).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(MigrationError);
      expect(String(failure)).toMatch(
        /written by a version before 1\.0\.0: take a backup .*, and restore the backup/,
      );
      expect(
        await store.query("SELECT name FROM system.tables WHERE database = currentDatabase() AND name = 'd'"),
      ).toEqual([]);
    }));

  test('a semicolon ends a statement only at the end of a line', () => {
    expect(statements("SELECT ';' ;\nSELECT 'a;b';  \r\n-- nothing;\n\nSELECT 3")).toEqual([
      "SELECT ';'",
      "SELECT 'a;b'",
      'SELECT 3',
    ]);
  });
});
