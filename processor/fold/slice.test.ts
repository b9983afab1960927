import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { type Event, MESSAGE_HEADER_BYTES } from '../../ingest/event.ts';
import { eventLists, plainEvent } from '../../ingest/testing/events.ts';
import { FoldRun, messageOf, TEST_LIMITS } from '../testing/run.ts';
import { deviceKeyOf } from './device-key.ts';
import { EventView } from './event-view.ts';
import { holdsDevice, holdsEvent, holdsNamed, type Slice } from './slice.ts';

const divisions = fc.record({
  count: fc.integer({ min: 1, max: 5 }),
  partitions: fc.constantFrom(1, 8, 64, 256),
});

function slicesOf({ count, partitions }: { readonly count: number; readonly partitions: number }): Slice[] {
  return Array.from({ length: count }, (_, index) => ({ index, count, partitions }));
}

function viewOf(event: Event): EventView {
  const view = new EventView();
  view.read(messageOf([event], 1), MESSAGE_HEADER_BYTES);
  return view;
}

/** Every row but the markers as text without its flush, which slices number on their own here, sorted. */
function rowsOf(runs: readonly FoldRun[]): string[] {
  return runs
    .flatMap((run) => [...run.events, ...run.sessions])
    .filter(({ values }) => values.projectId !== '')
    .map(({ values: { flushNumber: _, ...values } }) =>
      JSON.stringify(values, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)),
    )
    .sort();
}

describe('the slices of a lane', () => {
  test('write the same rows together as one that is not divided', () => {
    fc.assert(
      fc.property(
        eventLists({ maxLength: 60 }),
        divisions,
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 }),
        (events, division, lengths) => {
          const whole = new FoldRun(TEST_LIMITS);
          const divided = slicesOf(division).map((slice) => new FoldRun(TEST_LIMITS, slice));
          for (let start = 0, number = 1; start < events.length; number += 1) {
            const length = lengths[number % lengths.length] ?? 1;
            const message = messageOf(events.slice(start, start + length), number);
            for (const run of [whole, ...divided]) run.take(message);
            start += length;
            if (number % 3 > 0) continue;
            for (const run of [whole, ...divided]) run.flush();
          }
          for (const run of [whole, ...divided]) run.flush();
          expect(rowsOf(divided)).toEqual(rowsOf([whole]));
          for (const { state } of divided) expect(state.clockMs).toBe(whole.state.clockMs);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('hold each device once, by whatever it is named', () => {
    fc.assert(
      fc.property(
        fc.record({
          projectId: fc.string({ unit: 'grapheme', maxLength: 12 }).map(storedId),
          deviceId: fc.string({ unit: 'grapheme' }),
        }),
        fc.uuid(),
        divisions,
        (names, eventId, division) => {
          const event = plainEvent({
            ...names,
            eventId,
            sessionId: names.deviceId === '' ? '' : '1'.repeat(32),
          });
          const holding = slicesOf(division).filter((slice) => holdsEvent(slice, viewOf(event)));
          expect(holding).toHaveLength(1);
          const [slice] = holding;
          if (slice === undefined) return;
          expect(holdsNamed(slice, { ...names, eventId })).toBe(true);
          if (names.deviceId !== '')
            expect(holdsDevice(slice, deviceKeyOf(names.projectId, names.deviceId))).toBe(true);
        },
      ),
    );
  });

  test('get about as many devices each', () => {
    const slices = slicesOf({ count: 4, partitions: 256 });
    const counts = slices.map(
      (slice) =>
        Array.from({ length: 8_000 }, (_, number) =>
          deviceKeyOf(storedId('site'), `device-${number}`),
        ).filter((key) => holdsDevice(slice, key)).length,
    );
    for (const count of counts) expect(Math.abs(count - 2_000)).toBeLessThan(200);
  });
});
