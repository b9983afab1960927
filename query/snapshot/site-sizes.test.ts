import { expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type DayRow, SiteSizes } from './site-sizes.ts';

const DAY_S = 86_400;

/** Days 100 to 109; day 103 has no row. */
const ROWS: readonly DayRow[] = [100, 101, 102, 104, 105, 106, 107, 108, 109].map((day) => ({
  day: day * DAY_S,
  events: day * 10,
}));

function sizesOf(...answers: readonly (readonly DayRow[] | Error)[]) {
  const read: string[] = [];
  const sizes = new SiteSizes(async (site) => {
    read.push(site);
    const answer = answers[Math.min(read.length, answers.length) - 1] ?? [];
    if (answer instanceof Error) throw answer;
    return answer;
  });
  return { sizes, read };
}

test('a span has the events of its days, of parts of days as many as fall to them, and of later days as many as of recent ones', async () => {
  const { sizes, read } = sizesOf(ROWS);
  const eventsIn = (from: number, to: number) =>
    sizes.eventsIn(storedId('shop'), [{ fromMs: from * DAY_MS, toMs: to * DAY_MS }]);
  expect(await eventsIn(100, 102)).toBe(1_000 + 1_010);
  expect(await eventsIn(99, 100.5)).toBe(500);
  expect(await eventsIn(101.75, 104.25)).toBe(Math.round(0.25 * 1_010 + 1_020 + 0.25 * 1_040));
  expect(await eventsIn(103, 104)).toBe(0);
  // Seven of the days 102 to 109 have rows.
  const recent = (1_020 + 1_040 + 1_050 + 1_060 + 1_070 + 1_080 + 1_090) / 7;
  expect(await eventsIn(110, 112)).toBe(Math.round(2 * recent));
  expect(await eventsIn(109.5, 110.5)).toBe(Math.round(545 + 0.5 * recent));
  expect(await eventsIn(0, 40_000)).toBeGreaterThan(39_000 * recent);
  expect(read).toEqual(['shop']);
});

test('two spans add up', async () => {
  const { sizes } = sizesOf(ROWS);
  const days = [100, 105].map((day) => ({ fromMs: day * DAY_MS, toMs: (day + 1) * DAY_MS }));
  expect(await sizes.eventsIn(storedId('shop'), days)).toBe(1_000 + 1_050);
});

test('a site without events has none in any span', async () => {
  const { sizes } = sizesOf([]);
  expect(await sizes.eventsIn(storedId('shop'), [{ fromMs: 0, toMs: 40_000 * DAY_MS }])).toBe(0);
});

test('where its days cannot be read, a site counts as large, and they are read again', async () => {
  const { sizes, read } = sizesOf(new Error('away'), new Error('still away'), ROWS);
  const span = [{ fromMs: 100 * DAY_MS, toMs: 101 * DAY_MS }];
  for (let time = 0; time < 2; time += 1)
    expect(await sizes.eventsIn(storedId('shop'), span)).toBe(Number.POSITIVE_INFINITY);
  expect(await sizes.eventsIn(storedId('shop'), span)).toBe(1_000);
  expect(read).toHaveLength(3);
  sizes.evict(storedId('shop'));
  await sizes.eventsIn(storedId('shop'), span);
  expect(read).toHaveLength(4);
});
