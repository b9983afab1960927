import fc from 'fast-check';
import { expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import type { Cursor } from '../cursor.ts';
import { type CountPieces, countFromNewest } from './counted-pieces.ts';
import { pageSpanOf } from './page-span.ts';
import type { Span } from './range.ts';

interface TimedRow {
  readonly atMs: number;
  readonly id: number;
}

/** Counts these rows, and remembers the counted spans. */
function counting(rows: readonly TimedRow[]): { readonly count: CountPieces; readonly spans: Span[] } {
  const spans: Span[] = [];
  const count: CountPieces = async (span, edges) => {
    spans.push(span);
    const byEdge = new Map<number, number>();
    for (const { atMs } of rows) {
      if (atMs < span.fromMs || atMs >= span.toMs) continue;
      const edge = must(
        edges.findLast((from) => from <= atMs),
        'the first piece begins with the span',
      );
      byEdge.set(edge, (byEdge.get(edge) ?? 0) + 1);
    }
    return [...byEdge];
  };
  return { count, spans };
}

// Some rows in the whole span, and many near its end.
const questions = fc.record({
  fromMs: fc.integer({ min: -1e9, max: 1e9 }),
  lengthMs: fc.integer({ min: 1, max: 900 * DAY_MS }),
  sparse: fc.array(fc.nat({ max: 9_999 }), { maxLength: 40 }),
  dense: fc.array(fc.nat({ max: 3 * DAY_MS }), { maxLength: 60 }),
  nowPlace: fc.integer({ min: -2, max: 12 }),
  limit: fc.integer({ min: 1, max: 20 }),
  skipped: fc.nat({ max: 90 }),
  isBehind: fc.boolean(),
});

test('the counted part has the same page as the whole span, after any cursor', async () => {
  await fc.assert(
    fc.asyncProperty(
      questions,
      async ({ fromMs, lengthMs, sparse, dense, nowPlace, limit, skipped, isBehind }) => {
        const span = { fromMs, toMs: fromMs + lengthMs };
        const rows: TimedRow[] = [
          ...sparse.map((place) => fromMs + Math.floor((place / 10_000) * lengthMs)),
          ...dense.map((beforeMs) => Math.max(fromMs, span.toMs - 1 - beforeMs)),
        ]
          .map((atMs, id) => ({ atMs, id }))
          .sort((a, b) => b.atMs - a.atMs || a.id - b.id);
        const last = isBehind ? rows[skipped % Math.max(1, rows.length)] : undefined;
        const cursor: Cursor =
          last === undefined
            ? { kind: 'rows', rows: skipped }
            : { kind: 'behind', atMs: last.atMs, id: String(last.id), page: 1 };
        const isAfter = ({ atMs, id }: TimedRow) =>
          last === undefined || atMs < last.atMs || (atMs === last.atMs && id > last.id);
        const { count, spans } = counting(rows);
        const nowMs = fromMs + Math.floor((lengthMs * nowPlace) / 10);
        const counted = await countFromNewest(span, { cursor, limit }, nowMs, count);
        const part = pageSpanOf(counted.span, counted.edges, counted.rowsByEdge, { cursor, limit });
        const found =
          part === undefined
            ? []
            : rows
                .filter(({ atMs }) => atMs >= part.fromMs && atMs < part.toMs)
                .filter(isAfter)
                .slice(part.offset, part.offset + limit);
        const begin = last === undefined ? skipped : 0;
        expect(found).toEqual(rows.filter(isAfter).slice(begin, begin + limit));
        expect([...counted.edges].sort((a, b) => a - b)).toEqual(counted.edges);
        // No time is counted twice.
        for (const [index, { toMs }] of spans.entries())
          if (index > 0) expect(toMs).toBe(spans[index - 1]?.fromMs);
      },
    ),
  );
});

test('a page near the newest row counts the newest two hours alone, whatever the span', async () => {
  const span = { fromMs: 0, toMs: 9_600 * HOUR_MS };
  const rows = Array.from({ length: 9_600 }, (_, index) => ({ atMs: index * HOUR_MS, id: index }));
  const spansOf = async (cursor: Cursor, limit: number) => {
    const { count, spans } = counting(rows);
    await countFromNewest(span, { cursor, limit }, span.toMs, count);
    return spans.map(({ fromMs, toMs }) => [fromMs / HOUR_MS, toMs / HOUR_MS]);
  };
  expect(await spansOf({ kind: 'rows', rows: 0 }, 2)).toEqual([[9_598, 9_600]]);
  expect(await spansOf({ kind: 'rows', rows: 1 }, 2)).toEqual([
    [9_598, 9_600],
    [9_576, 9_598],
  ]);
  // The piece in which the previous page ended does not count.
  const behind = { kind: 'behind', atMs: 2_400 * HOUR_MS - 1, id: '', page: 1 } as const;
  expect(await spansOf(behind, 1)).toEqual([[2_398, 2_400]]);
  expect(await spansOf(behind, 2)).toEqual([
    [2_398, 2_400],
    [2_376, 2_398],
  ]);
});
