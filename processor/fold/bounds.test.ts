import { expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { MINOR_UNITS_MAX, STORED_SUM_MAX } from '../../infra/money.ts';
import { type Event, REVENUE } from '../../ingest/event.ts';
import { plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { FoldRun, messageOf, TEST_LIMITS } from '../testing/run.ts';
import { currentSessions } from '../testing/stored-state.ts';

const U32_MAX = 0xffff_ffff;
const payment = (revenue: bigint, currency = 'EUR'): Event =>
  plainEvent({ name: REVENUE, revenue, currency });
/** The smallest number of payments of the largest amount whose sum exceeds 64 bits. */
const PAYMENTS = 1_025;

test('payments of the largest amount beyond 64 bits are flushed, and the sum of their session stays at its bound', () => {
  const run = new FoldRun();
  run.take(
    messageOf(
      Array.from({ length: PAYMENTS }, () => payment(MINOR_UNITS_MAX)),
      1,
    ),
  );
  run.flush();
  expect(run.events.filter(({ values }) => values.name === REVENUE)).toHaveLength(PAYMENTS);
  expect(currentSessions(run.sessions)).toMatchObject([
    { otherEvents: PAYMENTS, revenue: [['EUR', STORED_SUM_MAX]] },
  ]);
  expect(run.state.saturatedSums).toBe(PAYMENTS - Number(STORED_SUM_MAX / MINOR_UNITS_MAX));
});

test('the same of refunds, beside a currency whose sum is exact', () => {
  const run = new FoldRun();
  const refunds = Array.from({ length: PAYMENTS }, () => payment(-MINOR_UNITS_MAX));
  run.take(messageOf([...refunds, payment(MINOR_UNITS_MAX, 'JPY'), payment(-1n, 'JPY')], 1));
  run.flush();
  expect(currentSessions(run.sessions)[0]?.revenue).toEqual([
    ['EUR', -STORED_SUM_MAX],
    ['JPY', MINOR_UNITS_MAX - 1n],
  ]);
});

test('a session at its bound has the same sum after a restart, and a refund lowers it', () => {
  const run = new FoldRun();
  run.take(
    messageOf(
      Array.from({ length: PAYMENTS }, () => payment(MINOR_UNITS_MAX)),
      1,
    ),
  );
  run.flush();
  const minuteBefore = minuteOf(run);
  run.crash();
  expect(minuteOf(run)).toEqual(minuteBefore);
  expect(minuteBefore?.revenue).toEqual({ EUR: String(BigInt(PAYMENTS) * MINOR_UNITS_MAX) });
  run.take(messageOf([payment(-5n)], 2));
  run.flush();
  expect(currentSessions(run.sessions)[0]?.revenue).toEqual([['EUR', STORED_SUM_MAX - 5n]]);
});

test('a credit to a stored session stays within the bound, too', () => {
  const laterMs = START_MS + 9 * TEST_LIMITS.sessionRetainMs;
  const run = new FoldRun();
  run.take(messageOf([plainEvent(), payment(STORED_SUM_MAX)], 1));
  run.take(messageOf([], 2, laterMs));
  run.flush();
  const late = { credit: true, occurredAtMs: laterMs, receivedAtMs: laterMs };
  run.take(messageOf([{ ...payment(MINOR_UNITS_MAX), ...late }], 3));
  run.flush();
  expect(currentSessions(run.sessions)[0]?.revenue).toEqual([['EUR', STORED_SUM_MAX]]);
});

test('the counts of a session stay at the largest number that their columns hold', () => {
  const run = new FoldRun();
  run.take(messageOf([plainEvent(), plainEvent({ name: 'other' })], 1));
  const { screenViews, otherEvents } = run.state.sessions;
  const slot = screenViews.indexOf(1);
  screenViews[slot] = U32_MAX - 1;
  otherEvents[slot] = U32_MAX - 1;
  const late = { name: REVENUE, credit: true, occurredAtMs: START_MS - DAY_MS };
  run.take(
    messageOf([plainEvent(), plainEvent(), plainEvent({ name: 'other' }), plainEvent({ name: 'other' })], 2),
  );
  run.take(messageOf([plainEvent({ ...late, revenue: 1n, currency: 'EUR' })], 3));
  run.flush();
  expect(currentSessions(run.sessions)).toMatchObject([{ screenViews: U32_MAX, otherEvents: U32_MAX }]);
});

function minuteOf(run: FoldRun) {
  const { head } = run.ask({ kind: 'minutes', projectId: plainEvent().projectId, fromMs: 0 });
  return head.kind === 'minutes' ? head.minutes.find(({ otherEvents }) => otherEvents > 0) : undefined;
}
