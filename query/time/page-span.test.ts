import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { type Cursor, FIRST } from '../cursor.ts';
import { edgesOf, isFinest, pageSpanOf, sectionsOf } from './page-span.ts';

const spans = fc
  .record({
    fromMs: fc.integer({ min: -1e9, max: 1e9 }),
    lengthMs: fc.integer({ min: 1, max: 90 * HOUR_MS }),
  })
  .map(({ fromMs, lengthMs }) => ({ fromMs, toMs: fromMs + lengthMs }));

test('a part, from its offset on, has the same rows as the whole span from the page on', () => {
  fc.assert(
    fc.property(
      spans,
      fc.array(fc.nat({ max: 999_999 }), { maxLength: 60 }),
      fc.nat({ max: 70 }),
      fc.integer({ min: 1, max: 20 }),
      (span, places, offset, limit) => {
        const lengthMs = span.toMs - span.fromMs;
        const times = places
          .map((place) => span.fromMs + Math.floor((place / 1_000_000) * lengthMs))
          .sort((a, b) => b - a);
        const edges = edgesOf(span);
        const rowsByEdge = new Map<number, number>();
        for (const atMs of times) {
          const edge = edges.findLast((from) => from <= atMs) ?? Number.NaN;
          rowsByEdge.set(edge, (rowsByEdge.get(edge) ?? 0) + 1);
        }
        const part = pageSpanOf(span, edges, rowsByEdge, { cursor: { kind: 'rows', rows: offset }, limit });
        const found =
          part === undefined
            ? []
            : times
                .filter((atMs) => atMs >= part.fromMs && atMs < part.toMs)
                .slice(part.offset, part.offset + limit);
        expect(found).toEqual(times.slice(offset, offset + limit));
        expect(part === undefined).toBe(times.length <= offset);
      },
    ),
  );
});

test('a part after a row has the rows that follow it, as many as a page holds', () => {
  fc.assert(
    fc.property(
      spans,
      fc.array(fc.nat({ max: 99 }), { minLength: 1, maxLength: 60 }),
      fc.nat({ max: 59 }),
      fc.integer({ min: 1, max: 20 }),
      (span, places, picked, limit) => {
        const lengthMs = span.toMs - span.fromMs;
        const rows = places
          .map((place, id) => ({ atMs: span.fromMs + Math.floor((place / 100) * lengthMs), id }))
          .sort((a, b) => b.atMs - a.atMs || a.id - b.id);
        const edges = edgesOf(span);
        const rowsByEdge = new Map<number, number>();
        for (const { atMs } of rows) {
          const edge = edges.findLast((from) => from <= atMs) ?? Number.NaN;
          rowsByEdge.set(edge, (rowsByEdge.get(edge) ?? 0) + 1);
        }
        const at = picked % rows.length;
        const last = rows[at];
        if (last === undefined) return;
        const cursor = { kind: 'behind', atMs: last.atMs, id: String(last.id), page: 1 } as const;
        const part = pageSpanOf(span, edges, rowsByEdge, { cursor, limit });
        const found =
          part === undefined
            ? []
            : rows
                .filter(({ atMs }) => atMs >= part.fromMs && atMs < part.toMs)
                .filter(({ atMs, id }) => atMs < last.atMs || id > last.id)
                .slice(part.offset, part.offset + limit);
        expect(found).toEqual(rows.slice(at + 1, at + 1 + limit));
      },
    ),
  );
});

test('a page near the newest row is read from the newest piece alone', () => {
  const span = { fromMs: 0, toMs: 10 * HOUR_MS };
  const edges = edgesOf(span);
  const rowsByEdge = new Map(edges.map((edge) => [edge, 100]));
  expect(pageSpanOf(span, edges, rowsByEdge, { cursor: { kind: 'rows', rows: 0 }, limit: 10 })).toEqual({
    fromMs: 9 * HOUR_MS,
    toMs: 10 * HOUR_MS,
    offset: 0,
  });
  expect(pageSpanOf(span, edges, rowsByEdge, { cursor: { kind: 'rows', rows: 195 }, limit: 10 })).toEqual({
    fromMs: 7 * HOUR_MS,
    toMs: 9 * HOUR_MS,
    offset: 95,
  });
});

test.each([
  [1, 1],
  [HOUR_MS, 1],
  [168 * HOUR_MS, 168],
  [1_000 * HOUR_MS, 1_000],
  [1_001 * HOUR_MS, 501],
  [400 * 366 * 24 * HOUR_MS, 1_000],
])('a span of %i ms from a whole hour on has %i pieces', (lengthMs, pieces) => {
  const edges = edgesOf({ fromMs: 0, toMs: lengthMs });
  expect(edges.length).toBe(pieces);
  expect(edges[0]).toBe(0);
});

test('sections fill the span from its newest end on, each twelve times as far from it as the one before', () => {
  const span = { fromMs: 0, toMs: 366 * DAY_MS };
  const hoursOf = (cursor: Cursor, nowMs: number) =>
    sectionsOf(span, cursor, nowMs).map(({ fromMs, toMs }) => [fromMs / HOUR_MS, toMs / HOUR_MS]);
  const hours = (days: number) => 24 * days;
  expect(hoursOf(FIRST, span.toMs)).toEqual([
    [hours(366) - 2, hours(366)],
    [hours(365), hours(366) - 2],
    [hours(354), hours(365)],
    [hours(222), hours(354)],
    [0, hours(222)],
  ]);
  // Rows are looked for before now first.
  expect(hoursOf(FIRST, DAY_MS + 1)).toEqual([
    [22, hours(366)],
    [0, 22],
  ]);
  expect(hoursOf(FIRST, -5)).toEqual([[0, hours(366)]]);
  const behind = { kind: 'behind', atMs: 10 * DAY_MS - 1, id: '', page: 1 } as const;
  expect(hoursOf(behind, span.toMs)).toEqual([
    [hours(10) - 2, hours(10)],
    [hours(9), hours(10) - 2],
    [0, hours(9)],
  ]);
  expect(hoursOf({ ...behind, atMs: -1 }, span.toMs)).toEqual([]);
});

test('only pieces of more than an hour are divided again', () => {
  const edges = [0, 3 * HOUR_MS, 4 * HOUR_MS];
  expect(isFinest({ fromMs: 3 * HOUR_MS, toMs: 5 * HOUR_MS }, edges)).toBe(true);
  expect(isFinest({ fromMs: 3 * HOUR_MS, toMs: 5 * HOUR_MS + 1 }, edges)).toBe(false);
  expect(isFinest({ fromMs: 0, toMs: 5 * HOUR_MS }, edges)).toBe(false);
});
