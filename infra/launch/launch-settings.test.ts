import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { NO_SETTINGS_FILE, readConfig, SMALL_DEFAULTS } from '../config.ts';
import { collectorsFor, workersFor } from '../process-counts.ts';
import { projectRoot } from '../root.ts';
import { checkCollectors, launchEnvironment, readLaunchSettings } from './launch-settings.ts';
import { engineFlags, nodeEnv } from './parts.ts';

const settingsOf = (env: NodeJS.ProcessEnv) =>
  readLaunchSettings(launchEnvironment({ FOOTFALL_CONF: NO_SETTINGS_FILE, ...env }));

describe('settings of the launcher', () => {
  test('have the defaults of a small machine, which infra/launch/README.md lists', () => {
    const readme = readFileSync(join(projectRoot, 'infra/launch/README.md'), 'utf8');
    for (const [name, value] of Object.entries(SMALL_DEFAULTS))
      expect(readme).toContain(`| \`${name}\` | ${value} |`);
  });

  test('of a small machine are valid, and give way to what is set', () => {
    const config = readConfig({ SMALL: '1', SESSION_CACHE_MAX: '500' });
    expect([config.WORKERS, config.STORE_HEAP_MAX_MB, config.SESSION_CACHE_MAX]).toEqual([1, 64, 500]);
    expect(readConfig({ SMALL: '0' }).STORE_HEAP_MAX_MB).toBe(512);
    expect(settingsOf({ SMALL: '1', HTTP_HEAP_MAX_MB: '200' })).toMatchObject({
      ...{ COLLECTORS: 1, HTTP_HEAP_MAX_MB: 200, PROCESSOR_HEAP_MAX_MB: 96, STORE_HEAP_MAX_MB: 64 },
    });
  });

  test('limit the heap of each program, behind the options of the operator', () => {
    const env = { NODE_OPTIONS: '--title=own' };
    expect(nodeEnv(settingsOf({}), 'http', env, 4)).toEqual({
      NODE_OPTIONS: '--max-old-space-size=768 --title=own',
    });
    expect(nodeEnv(settingsOf({}), 'http', env, 2)).toEqual({
      NODE_OPTIONS: '--max-old-space-size=768 --max-semi-space-size=4 --title=own',
    });
    expect(nodeEnv(settingsOf({ SMALL: '1' }), 'store', env)).toEqual({
      NODE_OPTIONS: '--max-old-space-size=64 --max-semi-space-size=2 --title=own',
      MALLOC_ARENA_MAX: '2',
      JE_MALLOC_CONF: expect.stringContaining('dirty_decay_ms'),
    });
  });

  test('give as many collectors to a number of cores as the table', () => {
    expect([1, 2, 4, 8, 16, 32].map((count) => [collectorsFor(count, 'linux'), workersFor(count)])).toEqual([
      [1, 1],
      [1, 1],
      [2, 1],
      [3, 2],
      [6, 4],
      [12, 8],
    ]);
  });

  test('let several processes share a port only where the system spreads connections over them', () => {
    expect(collectorsFor(32, 'darwin')).toBe(1);
    checkCollectors('COLLECTORS', 2, 'linux');
    checkCollectors('COLLECTORS', 1, 'darwin');
    expect(() => checkCollectors('COLLECTORS', 2, 'darwin')).toThrow(/^COLLECTORS is 2, .* Linux/);
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
    expect(() => settingsOf({ [name]: value })).toThrow(new RegExp(`^${name}[: ].*\\.$`));
  });

  test('CLICKHOUSE_URL may list a server for each shard', () => {
    const CLICKHOUSE_URL = 'http://one:8123, http://two:8123';
    expect(settingsOf({ CLICKHOUSE_URL }).CLICKHOUSE_URL).toBe(CLICKHOUSE_URL);
  });

  test('a number that is out of bounds is shown, with its bounds and what it is for', () => {
    expect(() => settingsOf({ PORT: '70000' })).toThrow(
      'PORT: "70000" is not a whole number from 0 to 65535 (port of the HTTP service; 0 picks a free port).',
    );
  });

  test('an invalid URL is not shown, because it may contain a password', () => {
    expect(() => settingsOf({ NATS_URL: 'u:secret@h' })).toThrow(/^(?!.*secret)/);
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
