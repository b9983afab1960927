import { expect, test } from 'vitest';
import { SeededRandom } from './random.ts';
import { VisitorModel } from './visitors.ts';

function visits(seed: number, count: number) {
  const model = new VisitorModel(seed, 1_000);
  return Array.from({ length: count }, () => model.nextVisit());
}

test('the same seed gives the same visits, another seed others', () => {
  expect(visits(1, 50)).toEqual(visits(1, 50));
  expect(visits(1, 50)).not.toEqual(visits(2, 50));
});

test('traffic is realistic: single-page visits, longer visits, a favourite page and returning visitors', () => {
  const all = visits(7, 5_000);
  const single = all.filter(({ steps }) => steps.length === 1).length / all.length;
  const paths = new Map<string, number>();
  for (const { steps } of all) for (const { path } of steps) paths.set(path, (paths.get(path) ?? 0) + 1);
  expect(single).toBeGreaterThan(0.35);
  expect(single).toBeLessThan(0.55);
  expect(Math.max(...paths.values())).toBe(paths.get('/'));
  expect(new Set(all.map(({ address }) => address)).size).toBeLessThan(1_001);
});

test('a visitor has the same browser and profile on every visit', () => {
  const traits = new Map<string, string>();
  for (const { address, userAgent, profileId } of visits(3, 5_000)) {
    const known = traits.get(address);
    if (known !== undefined) expect(`${userAgent} ${profileId}`).toBe(known);
    traits.set(address, `${userAgent} ${profileId}`);
  }
});

test('seeded numbers are evenly distributed', () => {
  const random = new SeededRandom(5);
  const counts = new Array<number>(10).fill(0);
  for (let drawn = 0; drawn < 100_000; drawn += 1) {
    const bin = Math.floor(random.next() * 10);
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
});
