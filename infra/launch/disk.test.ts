import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Disk } from './disk.ts';
import { openLogFile } from './log-file.ts';
import { afterDeath, NO_FAILURES } from './restart-policy.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-disk-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a disk is low before it is full, and stays full until half of the required space is free', () => {
  const said: string[] = [];
  let freed = 0;
  let free = 1_000;
  const disk = new Disk({
    folder,
    freeMinBytes: 100,
    freeBytes: () => free,
    say: (text) => said.push(text),
    onFreed: () => {
      freed += 1;
    },
  });
  disk.stop();
  const seen = [100, 99, 25, 24, 0, 49, 50, 24, 100].map((bytes) => {
    free = bytes;
    disk.check();
    return [bytes, disk.isFull, freed];
  });
  expect(seen).toEqual([
    [100, false, 0],
    [99, false, 0],
    [25, false, 0],
    [24, true, 0],
    [0, true, 0],
    [49, true, 0],
    [50, false, 1],
    [24, true, 1],
    [100, false, 2],
  ]);
  expect(said.map((text) => text.split(':')[0])).toEqual([
    'nearly full',
    'full',
    'nearly full',
    'full',
    `0 MiB are free in ${folder} again`,
  ]);
});

test('a part that cannot start is started for ever while the disk is full', () => {
  let state = NO_FAILURES;
  for (let time = 0; time < 100; time += 1) {
    const decision = afterDeath(state, 50, { isDiskFull: true });
    expect([decision.givesUp, decision.earlyFailures]).toEqual([false, 0]);
    state = decision;
  }
  expect(afterDeath(state, 50)).toMatchObject({ givesUp: false, delayMs: 10_000 });
});

test.skipIf(!existsSync('/dev/full'))(
  'a log that cannot be written drops lines, says so once, and has a tail',
  () => {
    const said: string[] = [];
    const say = (text: string) => said.push(text);
    const log = openLogFile('/dev/full', { say });
    for (const line of ['one\n', 'two\n', 'three\n']) log.write(line);
    expect(said).toEqual(['its log cannot be written (ENOSPC), dropping lines']);
    expect(log.tail(2)).toBe('two\nthree');
    log.close();
    said.length = 0;
    const nowhere = openLogFile('/dev/full/no/folder.log', { say });
    nowhere.write('four\n');
    expect(said[0]).toMatch(/^its log cannot be written \(\w+\)$/);
    nowhere.close();
  },
);
