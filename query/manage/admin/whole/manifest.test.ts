import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { BackedLane } from '../../../../processor/backups.ts';
import { BackupFolder } from './backup-folder.ts';
import {
  laneFields,
  lanesOf,
  readManifest,
  readUnfinished,
  writeManifest,
  writeUnfinished,
} from './manifest.ts';

const folder = mkdtempSync(join(tmpdir(), 'footfall-manifest-'));
const place = new BackupFolder(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const sha256 = 'a'.repeat(64);
const ONE: readonly BackedLane[] = [{ flushNumber: 7, clockMs: 1_000.5 }];
const THREE: readonly BackedLane[] = [
  ...ONE,
  { flushNumber: 0, clockMs: 0 },
  { flushNumber: 9, clockMs: 2_000, before: [[0, 5]] },
];

function contentOf(lanes: readonly BackedLane[]) {
  return {
    backupId: 'aaaaaaaa',
    takenAt: '2026-11-01T12:00:00.000Z',
    ...laneFields(lanes),
    migrations: [{ name: '001_events.sql', hash: 'b' }],
    progress: [{ bucket: 'deliveries' as const, key: 'integration.a', json: { n: 1 } }],
  };
}

async function write(lanes: readonly BackedLane[]): Promise<{ version: number; sha256: string }> {
  const content = {
    ...contentOf(lanes),
    createdAt: '2026-11-01T12:00:01.000Z',
    control: { file: 'control.json', bytes: 1, sha256 },
    tables: [
      {
        name: 'orders',
        columns: [{ name: 'id', type: 'String' }],
        rows: 1,
        files: [{ file: 'orders/all.parquet', bytes: 2, sha256, rows: 1 }],
      },
    ],
  };
  await writeManifest(place, content, { secretsKey: undefined, isShared: false });
  return JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
}

test('the bytes of a manifest change only with its version', async () => {
  const { version, sha256: digest } = await write(ONE);
  expect([version, digest]).toEqual([1, 'ab87ed94013d013bff4ae80da6231f968a9faf536f92999cbbb2fd4adac36b48']);
  expect(lanesOf((await readManifest(place)).manifest)).toEqual(ONE);
});

test('the manifest of several lanes says where each was', async () => {
  await write(THREE);
  expect(lanesOf((await readManifest(place)).manifest)).toEqual(THREE);
  const path = join(folder, 'manifest.json');
  writeFileSync(path, readFileSync(path, 'utf8').replace('"flushNumber": 9', '"flushNumber": 8'));
  await expect(readManifest(place)).rejects.toThrow('is damaged or was edited');
});

test.each([2, 3])('a manifest of version %i is read, as 0.1.0 wrote it', async (version) => {
  await write(THREE);
  const path = join(folder, 'manifest.json');
  const { sha256: _, ...manifest } = JSON.parse(readFileSync(path, 'utf8'));
  const former = { ...manifest, version };
  const digest = createHash('sha256').update(JSON.stringify(former)).digest('hex');
  writeFileSync(path, JSON.stringify({ ...former, sha256: digest }));
  expect(lanesOf((await readManifest(place)).manifest)).toEqual(THREE);
});

test('an interrupted backup goes on with the lanes of its instant', async () => {
  for (const lanes of [ONE, THREE]) {
    await writeUnfinished(place, contentOf(lanes));
    expect(await readUnfinished(place)).toEqual(contentOf(lanes));
  }
});
