import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { BACKED_TABLES } from '../../../../processor/backups.ts';
import { BackupFolder } from './backup-folder.ts';
import { type BackupManifest, readManifest } from './manifest.ts';
import { checkFiles } from './tables-in.ts';

// A manifest whose author knows its format: its own digest is right.

const folder = mkdtempSync(join(tmpdir(), 'footfall-hostile-'));
const place = new BackupFolder(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const CONTROL = Buffer.from('{}');
const sha256 = createHash('sha256').update(CONTROL).digest('hex');

function manifest(): BackupManifest {
  return {
    backupId: 'aaaaaaaa',
    takenAt: '2026-11-01T12:00:00.000Z',
    lane: { flushNumber: 1, clockMs: 0 },
    migrations: [{ name: '100_events.sql', hash: 'b' }],
    progress: [{ bucket: 'deliveries', key: 'integration.a', json: {} }],
    format: 'footfall backup',
    version: 1,
    createdAt: '2026-11-01T12:00:01.000Z',
    control: { file: 'control.json', bytes: CONTROL.length, sha256 },
    tables: BACKED_TABLES.map(({ name }) => ({
      name,
      columns: [{ name: 'id', type: 'String' }],
      rows: 0,
      files: [],
    })),
  };
}

const digestOf = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex');

async function check(given: object): Promise<void> {
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ ...given, sha256: digestOf(given) }));
  await checkFiles(place, (await readManifest(place)).manifest, () => {});
}

const fileOf = (file: string) => ({ file, bytes: CONTROL.length, sha256, rows: 1 });

function withFiles(...names: readonly string[]): BackupManifest {
  const { tables, ...rest } = manifest();
  const files = names.map(fileOf);
  return { ...rest, tables: tables.map((table, at) => (at === 0 ? { ...table, files } : table)) };
}

beforeEach(() => writeFileSync(join(folder, 'control.json'), CONTROL));

test('a manifest as `backup` writes it passes', async () => {
  await check(manifest());
});

test.each([
  ['above the folder', '../control.json'],
  ['above the folder, behind a table', 'profiles/../../secret.parquet'],
  ['anywhere on the machine', '/etc/passwd'],
  ['below a table', 'profiles/deep/all.parquet'],
  ['with a null character', 'profiles/all\0.parquet'],
  ['of another table', 'events/2026-11-01.parquet'],
  ['of a table that no backup has', 'users/all.parquet'],
])('a file %s is refused before anything is read', async (_name, file) => {
  await expect(check(withFiles(file))).rejects.toThrow('the manifest names files that no backup has');
});

test('a file that is named twice would count twice, and is refused', async () => {
  const twice = check(withFiles('profiles/all.parquet', 'profiles/all.parquet'));
  await expect(twice).rejects.toThrow('the manifest names files that no backup has');
});

test('a table that is named twice, or is no table of a backup, is refused', async () => {
  const given = manifest();
  const [first] = given.tables;
  for (const name of [first?.name ?? '', 'system.users', 'events` (id) SELECT 1 --']) {
    const tables = given.tables.map((table, at) => (at === 1 ? { ...table, name } : table));
    await expect(check({ ...given, tables })).rejects.toThrow('has other tables than this program knows');
  }
});

test.each([
  ['bytes', { control: { file: 'control.json', bytes: 2 ** 40, sha256 } }],
  ['a negative count', { control: { file: 'control.json', bytes: -1, sha256 } }],
  ['tables', { tables: Array(101).fill(manifest().tables[0]) }],
  ['lanes', { otherLanes: Array(10_001).fill({ flushNumber: 1, clockMs: 0 }), version: 2 }],
  ['the key of a record', { progress: [{ bucket: 'deliveries', key: 'a b\n*', json: {} }] }],
  ['the bucket of a record', { progress: [{ bucket: 'control', key: 'client.x', json: {} }] }],
  ['a field that is none', { more: 1 }],
])('a manifest beyond its bounds is refused: %s', async (_name, change) => {
  await expect(check({ ...manifest(), ...change })).rejects.toThrow('is damaged or was edited');
});
