import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { EventIds, type SeenEvent } from './event-ids.ts';
import { keyedHash } from './keyed-hash.ts';

const MEMORY_MS = DAY_MS;
const START_MS = 1_790_000_000_000;
const SITES = ['a', 'b', 'c', 'd'];

function create(max: number): EventIds {
  return new EventIds({ max, memoryMs: MEMORY_MS, key: Uint32Array.of(1, 2, 3, 4) });
}

function sessionOf(number: number): string {
  return number % 5 === 0 ? '' : number.toString(16).padStart(32, '0');
}

const step = fc.record({
  kind: fc.oneof(
    { weight: 14, arbitrary: fc.constant('set' as const) },
    { weight: 1, arbitrary: fc.constantFrom('delete-owner' as const, 'evict-oldest' as const) },
  ),
  site: fc.constantFrom(...SITES),
  id: fc.integer({ min: 0, max: 30 }).map((number) => 'id'.repeat(number % 7) + String(number)),
  laterMs: fc.oneof(fc.nat({ max: 1_000 }), fc.nat({ max: 90_000_000 })),
});

test('it has what lists have of which the longest loses its oldest, whatever the times', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 200 }), (max, steps) => {
      const ids = create(max);
      const model = new Map<string, [id: string, seen: SeenEvent][]>(SITES.map((site) => [site, []]));
      let atMs = START_MS;
      steps.forEach(({ kind, site, id, laterMs }, number) => {
        atMs += laterMs;
        const list = model.get(site) ?? [];
        if (kind === 'set') {
          const seen = { atMs, sessionId: sessionOf(number) };
          model.set(site, [...list.filter(([known]) => known !== id), [id, seen]]);
          ids.set(site, id, seen);
          if (sizeOf(model) > max) loseOne(ids, model);
        } else if (kind === 'delete-owner') {
          model.set(site, []);
          ids.deleteOwner(site);
        } else {
          list.shift();
          ids.evictOldest(site);
        }
        expect(ids.size).toBe(sizeOf(model));
        expect(new Set(ids.owners())).toEqual(new Set(SITES.filter((name) => model.get(name)?.length !== 0)));
        for (const [name, known] of model) {
          expect(needed(ids.oldestMs(name), atMs)).toBe(needed(known[0]?.[1].atMs, atMs));
          for (const [one, seen] of known) {
            const found = ids.peek(name, one);
            expect(found?.sessionId).toBe(seen.sessionId);
            expect(needed(found?.atMs, atMs)).toBe(needed(seen.atMs, atMs));
          }
        }
      });
    }),
  );
});

function sizeOf(model: ReadonlyMap<string, readonly unknown[]>): number {
  return [...model.values()].reduce((sum, { length }) => sum + length, 0);
}

/** The required knowledge of an id: its time while it is remembered, and then only that it has expired. */
function needed(atMs: number | undefined, nowMs: number): number | string | undefined {
  return atMs === undefined || nowMs - atMs <= MEMORY_MS ? atMs : 'over';
}

/** Removes the evicted id from the model: the oldest id of one of the largest sites. */
function loseOne(ids: EventIds, model: Map<string, [id: string, seen: SeenEvent][]>): void {
  const most = Math.max(...[...model.values()].map(({ length }) => length));
  const losers = [...model].filter(([site, [first]]) => first !== undefined && !ids.peek(site, first[0]));
  expect(losers.map(([, list]) => list.length)).toEqual([most]);
  losers[0]?.[1].shift();
}

test('ten thousand ids of many lengths are known apart, and freed memory is used again', () => {
  const ids = create(10_000);
  const idOf = (number: number) => `${'0'.repeat(number % 40)}-${number}`;
  for (let number = 0; number < 40_000; number += 1)
    ids.set(SITES[number % 2] ?? '', idOf(number), { atMs: START_MS + number, sessionId: sessionOf(number) });
  expect(ids.size).toBe(10_000);
  for (let number = 0; number < 40_000; number += 1) {
    const seen = ids.peek(SITES[number % 2] ?? '', idOf(number));
    expect(seen).toEqual(
      number < 30_000 ? undefined : { atMs: START_MS + number, sessionId: sessionOf(number) },
    );
    expect(ids.peek(SITES[(number + 1) % 2] ?? '', idOf(number))).toBeUndefined();
  }
  expect(ids.bytes / ids.size).toBeLessThan(150);
});

test('the hash is HalfSipHash-2-4 with 64 bits, twice', () => {
  const key = new Uint32Array(Uint8Array.from([0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]).buffer);
  const known = [
    'd5e78a175be52ea1',
    'cb9d7c3f2f3db580',
    'ce3e91358aa2bc25',
    'ff202728b07bc684',
    'edfee820bce4858c',
  ];
  for (const [more, digits] of known.entries()) {
    const bytes = Buffer.from(Array.from({ length: 4 + more }, (_, index) => index));
    const hash = new Uint32Array(4);
    keyedHash(key, bytes.readUInt32LE(0), bytes.toString('latin1', 4), hash);
    expect(Buffer.from(hash.buffer).toString('hex')).toBe(digits + digits);
  }
});
