import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { streamParts } from './stream-parts.ts';

const at = (text: string) => Date.parse(`2026-03-01T${text}Z`);
const SPAN = { fromMs: at('00:30:00'), toMs: at('20:10:00') };

test('parts of a million rows begin at whole hours, except at both ends of the span', () => {
  const extent = { firstMs: at('01:59:00'), lastMs: at('09:00:00'), rows: 2_500_000 };
  expect(streamParts(SPAN, extent, 1_000_000)).toEqual([
    { fromMs: SPAN.fromMs, toMs: at('04:00:00') },
    { fromMs: at('04:00:00'), toMs: at('07:00:00') },
    { fromMs: at('07:00:00'), toMs: SPAN.toMs },
  ]);
});

test('few rows, no rows, and rows of one hour are one part', () => {
  const extent = { firstMs: at('01:59:00'), lastMs: at('09:00:00'), rows: 1_000_000 };
  expect(streamParts(SPAN, extent, 1_000_000)).toEqual([SPAN]);
  expect(streamParts(SPAN, { firstMs: 0, lastMs: 0, rows: 0 }, 1_000_000)).toEqual([SPAN]);
  expect(streamParts(SPAN, { ...extent, lastMs: at('01:59:59'), rows: 9_000_000 }, 1_000_000)).toEqual([
    SPAN,
  ]);
});

test('parts are contiguous, and no more than hours and rows require', () => {
  const extents = fc.tuple(fc.nat(500 * HOUR_MS), fc.nat(9_000 * HOUR_MS), fc.nat(50_000_000));
  fc.assert(
    fc.property(extents, ([begin, length, rows]) => {
      const span = { fromMs: begin, toMs: begin + length + 1 };
      const parts = streamParts(span, { firstMs: begin, lastMs: begin + length, rows }, 1_000_000);
      expect(parts[0]?.fromMs).toBe(span.fromMs);
      expect(parts.at(-1)?.toMs).toBe(span.toMs);
      for (const [index, { fromMs, toMs }] of parts.entries()) {
        expect(fromMs).toBeLessThan(toMs);
        if (index > 0) expect([fromMs % HOUR_MS, fromMs]).toEqual([0, parts[index - 1]?.toMs]);
      }
      expect(parts.length).toBeLessThanOrEqual(Math.max(1, Math.ceil(rows / 1_000_000)));
    }),
  );
});
