import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { NO_SEAM, type Seam } from '../snapshot/seam.ts';
import type { Statement } from '../snapshot/statement.ts';
import { Otherwise } from '../ways.ts';
import { lookUpBlocks } from './blocks-lookup.ts';
import type { FinalizedBlocks } from './rollup-spans.ts';

const HOUR = 3_600;
const DAY = 24 * HOUR;
const LOOKUP: Statement<'rollup-spans'> = {
  name: 'rollup-spans',
  parameters: { site: storedId('site'), first: 0, last: 10 * DAY },
};
const ROLLED = { seconds: HOUR, block: 4, flushes: [7], partition: 0, starts: [2 * HOUR, HOUR] };
const FIRST = { seconds: 0, block: 0, flushes: [], partition: 0, starts: [HOUR] };
const DAYS = { seconds: DAY, block: 6, flushes: [7], partition: 0, starts: [DAY, 2 * DAY] };
const LATE = { seconds: HOUR, block: 0, flushes: [8], partition: 0, starts: [2 * HOUR] };

/** A store whose lookups answer when the test says so. */
class Lookups {
  readonly #waiting: ((rows: readonly object[]) => void)[] = [];
  readonly #failing: ((error: Error) => void)[] = [];
  readonly history: StatementRunner = {
    ask: (<Row>(_statement: Statement) =>
      new Promise<Row[]>((resolve, reject) => {
        this.#waiting.push((rows) => resolve(rows as Row[]));
        this.#failing.push(reject);
      })) as StatementRunner['ask'],
  };

  get waiting(): number {
    return this.#waiting.length;
  }

  answer(...rows: readonly object[]): void {
    this.#failing.shift();
    this.#waiting.shift()?.(rows);
  }

  fail(): void {
    this.#waiting.shift();
    this.#failing.shift()?.(new Error('away'));
  }
}

/** The arguments of each call of `run`, as one line. */
function linesOf(calls: readonly (FinalizedBlocks | Otherwise)[]): readonly string[] {
  return calls.map((blocks) =>
    blocks instanceof Otherwise ? blocks.why : [...blocks.hours, '|', ...blocks.days].join(' '),
  );
}

function question({ history }: Lookups, seam: Seam = NO_SEAM, table?: string) {
  const calls: (FinalizedBlocks | Otherwise)[] = [];
  const lookup = lookUpBlocks(history, LOOKUP, seam, table);
  const answer = lookup.answer(async (blocks) => {
    calls.push(blocks);
    return calls.length;
  });
  answer.catch(() => {});
  return { lookup, calls, answer };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

test('the first question waits for its lookup', async () => {
  const lookups = new Lookups();
  const { calls, answer } = question(lookups);
  await settled();
  expect(calls).toEqual([]);
  lookups.answer(ROLLED, FIRST);
  expect(await answer).toBe(1);
  expect(linesOf(calls)).toEqual([`${HOUR},4 ${2 * HOUR},4 |`]);
});

test('the next one begins at once, and its answer counts once the lookup finds the same in whatever order', async () => {
  const lookups = new Lookups();
  const first = question(lookups);
  lookups.answer(ROLLED, FIRST, DAYS);
  await first.answer;
  const { calls, answer } = question(lookups);
  await settled();
  expect(linesOf(calls)).toEqual([`${HOUR},4 ${2 * HOUR},4 | ${DAY},6 ${2 * DAY},6`]);
  const isAnswered = Promise.race([answer.then(() => true), settled().then(() => false)]);
  expect(await isAnswered).toBe(false);
  lookups.answer({ ...DAYS, starts: [2 * DAY, DAY] }, FIRST, { ...ROLLED, starts: [HOUR, 2 * HOUR] });
  expect(await answer).toBe(1);
  expect(calls).toHaveLength(1);
});

test.each([
  ['a late mark', [ROLLED, FIRST, LATE], [`${HOUR},4 |`]],
  [
    'an invalidation',
    [ROLLED, FIRST, { ...ROLLED, block: 5, flushes: [], starts: [HOUR] }],
    [`${2 * HOUR},4 |`],
  ],
  [
    'a further hour',
    [{ ...ROLLED, starts: [HOUR, 2 * HOUR, 3 * HOUR] }, FIRST],
    [`${HOUR},4 ${2 * HOUR},4 ${3 * HOUR},4 |`],
  ],
  ['an earlier first hour', [ROLLED, { ...FIRST, starts: [0] }], [`${HOUR},4 ${2 * HOUR},4 |`]],
])('after %s it runs again with what is true now', async (_, rows, expected) => {
  const lookups = new Lookups();
  const first = question(lookups);
  lookups.answer(ROLLED, FIRST);
  await first.answer;
  const { calls, answer } = question(lookups);
  await settled();
  lookups.answer(...rows);
  expect(await answer).toBe(2);
  expect(linesOf(calls).slice(1)).toEqual(expected);
  // The next question begins with this.
  const next = question(lookups);
  await settled();
  expect(linesOf(next.calls)).toEqual(expected);
});

test('hot hours count for what is remembered, too', async () => {
  const lookups = new Lookups();
  const first = question(lookups);
  lookups.answer(ROLLED, FIRST);
  await first.answer;
  const { calls } = question(lookups, { ...NO_SEAM, hotHours: new Set([HOUR * 1000]) });
  await settled();
  expect(linesOf(calls)).toEqual([`${2 * HOUR},4 |`]);
  const [blocks] = calls;
  expect(blocks instanceof Otherwise || blocks?.isEmpty(0)).toBe(true);
});

test('days count only where the table has their block, as the lookup of the table found it', async () => {
  const lookups = new Lookups();
  const first = question(lookups, NO_SEAM, 'daily_names');
  expect(lookups.waiting).toBe(2);
  lookups.answer(DAYS);
  lookups.answer({ block: 6, starts: [DAY] });
  await first.answer;
  expect(linesOf(first.calls)).toEqual([`| ${DAY},6`]);
  const second = question(lookups, NO_SEAM, 'daily_names');
  lookups.answer(DAYS);
  lookups.answer({ block: 6, starts: [2 * DAY, DAY] });
  expect(await second.answer).toBe(2);
  expect(linesOf(second.calls)).toEqual([`| ${DAY},6`, `| ${DAY},6 ${2 * DAY},6`]);
});

test('a table that had all days is asked again only after the lookup finds other blocks', async () => {
  const lookups = new Lookups();
  const first = question(lookups, NO_SEAM, 'daily_names');
  lookups.answer(DAYS);
  lookups.answer({ block: 6, starts: [DAY, 2 * DAY] });
  await first.answer;
  const second = question(lookups, NO_SEAM, 'daily_names');
  expect(lookups.waiting).toBe(1);
  lookups.answer(DAYS);
  expect(await second.answer).toBe(1);
  expect(linesOf(second.calls)).toEqual([`| ${DAY},6 ${2 * DAY},6`]);
  const third = question(lookups, NO_SEAM, 'daily_names');
  lookups.answer(DAYS, { ...DAYS, block: 7, starts: [DAY] });
  await settled();
  expect(lookups.waiting).toBe(1);
  lookups.answer({ block: 6, starts: [2 * DAY] });
  expect(await third.answer).toBe(2);
  expect(linesOf(third.calls).slice(1)).toEqual([`| ${2 * DAY},6`]);
});

test('a lookup that fails fails the question, and what was found before stays', async () => {
  const lookups = new Lookups();
  const first = question(lookups);
  lookups.answer(ROLLED, FIRST);
  await first.answer;
  const second = question(lookups);
  lookups.fail();
  await expect(second.answer).rejects.toThrow('away');
  const third = question(lookups);
  await settled();
  expect(third.calls).toHaveLength(1);
});

test('an early run that fails matters only if it was right', async () => {
  const lookups = new Lookups();
  const first = question(lookups);
  lookups.answer(ROLLED, FIRST);
  await first.answer;
  const ask = () => {
    let runs = 0;
    return lookUpBlocks(lookups.history, LOOKUP, NO_SEAM).answer(async () => {
      runs += 1;
      if (runs === 1) throw new Error('no such rows');
      return runs;
    });
  };
  const changed = ask();
  lookups.answer(ROLLED, FIRST, LATE);
  expect(await changed).toBe(2);
  const same = ask();
  lookups.answer(ROLLED, LATE, FIRST);
  await expect(same).rejects.toThrow('no such rows');
});

test('without a lookup, rows alone answer', async () => {
  const lookups = new Lookups();
  const lookup = lookUpBlocks(lookups.history, new Otherwise('filters'), NO_SEAM);
  expect(await lookup.answer(async (blocks) => blocks)).toEqual(new Otherwise('filters'));
  expect(lookups.waiting).toBe(0);
});
