import { Writable } from 'node:stream';
import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../clock.ts';
import { HOUR_MS } from '../durations.ts';
import { Metrics } from '../metrics.ts';
import { type HealthWarning, IgnoredForwarding, mergedWarnings } from './ignored-forwarding.ts';

const START_MS = Date.UTC(2026, 0, 5);
let clock: ManualClock;
let metrics: Metrics;
let lines: string[];
let ignored: IgnoredForwarding;

beforeEach(() => {
  clock = new ManualClock(START_MS);
  metrics = new Metrics();
  lines = [];
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString('utf8'));
      done();
    },
  });
  ignored = new IgnoredForwarding({ log: pino({ level: 'warn' }, sink), clock, metrics });
});

test.each([
  ['127.0.0.1', 'loopback'],
  ['::1', 'loopback'],
  ['172.17.0.1', 'private'],
  ['fd00::5', 'private'],
  ['203.0.113.7', 'public'],
  ['2001:db8::1', 'public'],
])('%s is named as a %s address, in log, warning and counter, and never shown', (peer, kind) => {
  ignored.note(peer);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, peer: `a ${kind} address`, setting: 'TRUSTED_PROXIES' },
  ]);
  const [warning, ...others] = ignored.warnings();
  expect(others).toEqual([]);
  expect(warning).toMatchObject({ setting: 'TRUSTED_PROXIES', requests: 1, since: START_MS, last: START_MS });
  expect(warning?.message).toContain(`a ${kind} address`);
  expect(metrics.expose()).toContain(`http_forwarding_ignored_total{peer="${kind}"} 1\n`);
  expect(lines.join() + JSON.stringify(warning) + metrics.expose()).not.toContain(peer);
});

test('counters start at zero, and without such a request there is no warning', () => {
  for (const kind of ['loopback', 'private', 'public'])
    expect(metrics.expose()).toContain(`http_forwarding_ignored_total{peer="${kind}"} 0\n`);
  expect(ignored.warnings()).toEqual([]);
});

test('a kind of peer is logged once an hour, however many requests and peers it has', () => {
  for (let index = 0; index < 5_000; index += 1) ignored.note(`10.${index >> 8}.${index & 255}.1`);
  expect(lines).toHaveLength(1);
  ignored.note('203.0.113.7');
  expect(lines).toHaveLength(2);
  clock.advance(HOUR_MS - 1);
  ignored.note('10.0.0.1');
  expect(lines).toHaveLength(2);
  clock.advance(1);
  ignored.note('10.0.0.1');
  expect(lines).toHaveLength(3);
  expect(ignored.warnings()).toMatchObject([{ requests: 5_002, since: START_MS, last: START_MS + HOUR_MS }]);
  expect(metrics.expose()).toContain('http_forwarding_ignored_total{peer="private"} 5002\n');
});

test('a warning ends an hour after the last such request', () => {
  ignored.note('10.0.0.1');
  clock.advance(HOUR_MS - 1);
  expect(ignored.warnings()).toHaveLength(1);
  clock.advance(1);
  expect(ignored.warnings()).toEqual([]);
  ignored.note('10.0.0.1');
  expect(ignored.warnings()).toMatchObject([{ requests: 1, since: START_MS + HOUR_MS }]);
});

test('the same warning of two services is one, and different ones stay apart', () => {
  const warning = (message: string, requests: number, since: number, last: number): HealthWarning => ({
    setting: 'TRUSTED_PROXIES',
    message,
    requests,
    since,
    last,
  });
  const merged = mergedWarnings([warning('a', 2, 10, 20), warning('b', 1, 5, 5), warning('a', 3, 8, 15)]);
  expect(merged).toEqual([warning('a', 5, 8, 20), warning('b', 1, 5, 5)]);
  expect(mergedWarnings([])).toEqual([]);
});
