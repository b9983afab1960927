import { expect, test } from 'vitest';
import type { AttackTarget } from './attack.ts';
import { ATTACKS, attackOf } from './attacks.ts';

const IN_FLIGHT_MAX = 1_000;
const REQUEST_MAX_BYTES = 4_300_000;
const CLIENT = { id: 'id', secret: 'secret' };
const TARGET: AttackTarget = {
  url: 'http://127.0.0.1:3000',
  sites: ['demo', 'many-1'],
  clients: { root: CLIENT, read: CLIENT, write: CLIENT },
  readers: ['reader'],
};

test('each attack has a name of its own, and is bounded', () => {
  expect(new Set(ATTACKS.map(({ name }) => name)).size).toBe(ATTACKS.length);
  for (const { name, inFlight, opened, request } of ATTACKS) {
    expect(attackOf(name).name).toBe(name);
    expect(inFlight).toBeLessThanOrEqual(IN_FLIGHT_MAX);
    for (let index = 0; index < 8; index += 1) {
      const { path, headers, body = '' } = request(TARGET, index);
      const bytes = path.length + JSON.stringify(headers).length + Buffer.byteLength(body);
      expect(bytes, name).toBeLessThan(REQUEST_MAX_BYTES);
      expect(path, name).toMatch(/^\//);
      expect(new URL(path, TARGET.url).origin, name).toBe(TARGET.url);
      if (opened !== undefined) expect(body.length, name).toBeGreaterThan(opened);
    }
  }
});

test('an attack has no two equal requests where equal ones would be answered once', () => {
  const { request } = attackOf('long questions');
  const paths = Array.from({ length: 200 }, (_, index) => request(TARGET, index).path);
  expect(new Set(paths).size).toBe(paths.length);
});
