import { describe, expect, test } from 'vitest';
import { collectorsFor as collectorsByCores, SETTINGS, workersFor } from '../config.ts';
import { collectorsFor, collectorsOf, LAUNCH_DEFAULTS, readLaunchSettings } from './settings.mjs';

describe('settings of the launcher', () => {
  test('have the defaults of the table', () => {
    for (const [name, value] of Object.entries(LAUNCH_DEFAULTS)) {
      expect([name, SETTINGS[name as keyof typeof LAUNCH_DEFAULTS].default]).toEqual([name, value]);
    }
  });

  test('give as many collectors to a number of cores as the table', () => {
    const cores = [1, 2, 3, 4, 6, 8, 16, 32, 64];
    expect(cores.map((count) => collectorsFor(count))).toEqual(
      cores.map((count) => collectorsByCores(count)),
    );
    expect([1, 2, 4, 8, 16, 32].map((count) => [collectorsByCores(count), workersFor(count)])).toEqual([
      [1, 1],
      [1, 2],
      [2, 2],
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
    ['QUERIES', '65'],
    ['PORT', '70000'],
    ['BUS_BYTES_MAX', '0'],
    ['NATS_URL', 'secret-host:4222'],
    ['CLICKHOUSE_URL', 'secret-host'],
  ])('%s=%s is rejected, naming the variable', (name, value) => {
    expect(() => readLaunchSettings({ [name]: value })).toThrow(new RegExp(`^${name} `));
  });

  test('an invalid URL is not shown, because it may contain a password', () => {
    expect(() => readLaunchSettings({ NATS_URL: 'u:secret@h' })).toThrow(/^(?!.*secret)/);
  });
});
