import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { DEVICES_MAX, DeviceIds, deviceIdOf, REMEMBERED_TEXT_MAX } from './visitor.ts';

const trace = { siteId: storedId('shop'), address: '203.0.113.7', userAgent: 'Mozilla/5.0' };
const salts = { day: 1, today: new Uint8Array(16).fill(1), yesterday: new Uint8Array(16).fill(2) };

test('a device id is 32 hexadecimal digits and differs in each of its parts', () => {
  const ids = [
    deviceIdOf(salts.today, trace),
    deviceIdOf(salts.yesterday, trace),
    deviceIdOf(salts.today, { ...trace, siteId: storedId('blog') }),
    deviceIdOf(salts.today, { ...trace, address: '203.0.113.8' }),
    deviceIdOf(salts.today, { ...trace, userAgent: 'Mozilla/6.0' }),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
});

test('device ids survive a rotation of the cache, and become yesterday’s with the next day’s salt', () => {
  const devices = new DeviceIds();
  const first = devices.of(salts, trace, 0);
  expect(devices.of(salts, trace, 200_000)).toEqual(first);
  const next = { day: 2, today: new Uint8Array(16).fill(3), yesterday: salts.today };
  expect(devices.of(next, trace, 300_000).earlierDeviceId).toBe(first.deviceId);
  expect(devices.of({ ...next, yesterday: undefined, day: 3 }, trace, 300_000).earlierDeviceId).toBe('');
});

test('a visitor with a long user agent has the same ids each time, and is not remembered', () => {
  const devices = new DeviceIds();
  const long = { ...trace, userAgent: 'x'.repeat(REMEMBERED_TEXT_MAX + 1) };
  expect(devices.of(salts, long, 0)).toEqual(devices.of(salts, long, 0));
  expect(devices.of(salts, long, 0)).not.toBe(devices.of(salts, long, 0));
  const short = { ...trace, userAgent: 'x'.repeat(REMEMBERED_TEXT_MAX) };
  expect(devices.of(salts, short, 0)).toBe(devices.of(salts, short, 0));
});

test('visitors who differ in one of site, address and agent are remembered apart', () => {
  const devices = new DeviceIds();
  const traces = [
    trace,
    { ...trace, siteId: storedId('blog') },
    { ...trace, address: '203.0.113.8' },
    { ...trace, userAgent: 'Mozilla/6.0' },
    { ...trace, siteId: storedId('blog'), address: '203.0.113.8', userAgent: 'Mozilla/6.0' },
  ];
  const visitors = traces.map((each) => devices.of(salts, each, 0));
  expect(visitors.map(({ deviceId }) => deviceId)).toEqual(
    traces.map((each) => deviceIdOf(salts.today, each)),
  );
  expect(traces.map((each) => devices.of(salts, each, 0) === visitors[traces.indexOf(each)])).toEqual(
    traces.map(() => true),
  );
});

test('a full generation is rotated: a visitor is forgotten when two were filled without a request of it', () => {
  const devices = new DeviceIds();
  const fill = (octet: number) => {
    for (let index = 0; index < DEVICES_MAX; index += 1)
      devices.of(salts, { ...trace, address: `10.${octet}.${index >> 8}.${index & 255}` }, 0);
  };
  const first = devices.of(salts, trace, 0);
  fill(1);
  expect(devices.of(salts, trace, 0)).toBe(first);
  fill(2);
  fill(3);
  expect(devices.of(salts, trace, 0)).not.toBe(first);
  expect(devices.of(salts, trace, 0).deviceId).toBe(first.deviceId);
});
