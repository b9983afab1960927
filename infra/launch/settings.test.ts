import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig, SETTINGS, SMALL_DEFAULTS } from '../config.ts';
import { collectorsFor as collectorsByCores, workersFor } from '../process-counts.ts';
import { projectRoot } from '../root.ts';
import { listed as listedBySettings } from '../store/store-shards.ts';
import { engineFlags, nodeEnv } from './parts.mjs';
import {
  collectorsFor,
  collectorsOf,
  LAUNCH_DEFAULTS,
  LAUNCH_SMALL_DEFAULTS,
  listed,
  readLaunchSettings,
} from './settings.mjs';

describe('settings of the launcher', () => {
  test('have the defaults of the table', () => {
    for (const [name, value] of Object.entries(LAUNCH_DEFAULTS)) {
      expect([name, SETTINGS[name as keyof typeof LAUNCH_DEFAULTS].default]).toEqual([name, value]);
    }
  });

  test('have the defaults of a small machine, which infra/launch/README.md lists', () => {
    const readme = readFileSync(join(projectRoot, 'infra/launch/README.md'), 'utf8');
    for (const [name, value] of Object.entries(SMALL_DEFAULTS))
      expect(readme).toContain(`| \`${name}\` | ${value} |`);
    const names = Object.keys(LAUNCH_DEFAULTS).filter((name) => name in SMALL_DEFAULTS);
    expect(Object.keys(LAUNCH_SMALL_DEFAULTS).sort()).toEqual(names.sort());
    for (const [name, value] of Object.entries(LAUNCH_SMALL_DEFAULTS))
      expect([name, SMALL_DEFAULTS[name as keyof typeof SETTINGS]]).toEqual([name, value]);
  });

  test('of a small machine are valid, and give way to what is set', () => {
    const config = readConfig({ SMALL: '1', SESSION_CACHE_MAX: '500' });
    expect([config.WORKERS, config.STORE_HEAP_MAX_MB, config.SESSION_CACHE_MAX]).toEqual([1, 64, 500]);
    expect(readConfig({ SMALL: '0' }).STORE_HEAP_MAX_MB).toBe(512);
    const settings = readLaunchSettings({ SMALL: '1', HTTP_HEAP_MAX_MB: '200' });
    expect([settings.collectors, settings.heapMaxMb]).toEqual([1, { http: 200, processor: 96, store: 64 }]);
  });

  test('limit the heap of each program, behind the options of the operator', () => {
    const before = process.env.NODE_OPTIONS;
    process.env.NODE_OPTIONS = '--title=own';
    expect(nodeEnv(readLaunchSettings({}), 'http', 4)).toEqual({
      NODE_OPTIONS: '--max-old-space-size=768 --title=own',
    });
    expect(nodeEnv(readLaunchSettings({}), 'http', 2)).toEqual({
      NODE_OPTIONS: '--max-old-space-size=768 --max-semi-space-size=4 --title=own',
    });
    expect(nodeEnv(readLaunchSettings({ SMALL: '1' }), 'store')).toEqual({
      NODE_OPTIONS: '--max-old-space-size=64 --max-semi-space-size=2 --title=own',
      MALLOC_ARENA_MAX: '2',
      JE_MALLOC_CONF: expect.stringContaining('dirty_decay_ms'),
    });
    if (before === undefined) delete process.env.NODE_OPTIONS;
    else process.env.NODE_OPTIONS = before;
  });

  test('give as many collectors to a number of cores as the table', () => {
    const cores = [1, 2, 3, 4, 6, 8, 16, 32, 64];
    expect(cores.map((count) => collectorsFor(count))).toEqual(
      cores.map((count) => collectorsByCores(count)),
    );
    expect([1, 2, 4, 8, 16, 32].map((count) => [collectorsByCores(count), workersFor(count)])).toEqual([
      [1, 1],
      [1, 1],
      [2, 1],
      [3, 2],
      [6, 4],
      [12, 8],
    ]);
  });

  test('let several processes share a port only where the system spreads connections over them', () => {
    expect(collectorsOf('2', 'linux')).toBe(2);
    expect(collectorsOf('1', 'darwin')).toBe(1);
    expect(() => collectorsOf('2', 'darwin')).toThrow(/^COLLECTORS is 2, .* Linux/);
  });

  test.each([
    ['PORT', 'abc'],
    ['COLLECTORS', '0'],
    ['SMALL', '2'],
    ['HTTP_HEAP_MAX_MB', '8'],
    ['QUERIES', '65'],
    ['PORT', '70000'],
    ['BUS_BYTES_MAX', '0'],
    ['NATS_URL', 'secret-host:4222'],
    ['CLICKHOUSE_URL', 'secret-host'],
    ['CLICKHOUSE_URL', 'http://one:8123, secret-host'],
  ])('%s=%s is rejected, naming the variable', (name, value) => {
    expect(() => readLaunchSettings({ [name]: value })).toThrow(new RegExp(`^${name} `));
  });

  test('CLICKHOUSE_URL may list a server for each shard', () => {
    const CLICKHOUSE_URL = 'http://one:8123, http://two:8123';
    expect(readLaunchSettings({ CLICKHOUSE_URL }).clickhouseUrl).toBe(CLICKHOUSE_URL);
    expect(listed(CLICKHOUSE_URL)).toEqual(listedBySettings(CLICKHOUSE_URL));
  });

  test('an invalid URL is not shown, because it may contain a password', () => {
    expect(() => readLaunchSettings({ NATS_URL: 'u:secret@h' })).toThrow(/^(?!.*secret)/);
  });
});

test.each([
  [1, ['--single-threaded']],
  [2, ['--single-threaded']],
  [3, []],
  [64, []],
])('programs on %i cores run with the flags %j, which this Node takes', (cores, flags) => {
  expect(engineFlags(cores)).toEqual(flags);
  const { status } = spawnSync(process.execPath, [...engineFlags(cores), '--version']);
  expect(status).toBe(0);
});
