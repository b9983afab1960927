import { SCREEN_VIEW } from '../../ingest/event.ts';
import type { MemoryStatement } from './memory-statement.ts';
import type { SiteView } from './site-rows.ts';
import { eachEvent, eachSession, edgeBelow, visitorOf } from './walk.ts';

/** What one bucket or span adds up to. */
class EventSums {
  screenViews = 0;
  visitors = 0;
  readonly #revenue = new Map<number, number>();

  add(view: SiteView, row: number, isView: boolean): void {
    if (isView) this.screenViews += 1;
    const amount = view.events.amount[row] ?? 0;
    if (amount === 0) return;
    const currency = view.events.currency[row] ?? 0;
    this.#revenue.set(currency, (this.#revenue.get(currency) ?? 0) + amount);
  }

  revenue({ texts }: SiteView): Record<string, string> {
    const entries = [...this.#revenue].map(([code, amount]) => [texts.words.textOf(code), String(amount)]);
    return Object.fromEntries(entries) as Record<string, string>;
  }
}

/** `metrics-events.sql` */
export function metricsEvents(view: SiteView, { bound, passes }: MemoryStatement): object[] {
  const { edges } = bound;
  const screenView = view.texts.words.find(SCREEN_VIEW) ?? -1;
  const rows: object[] = [];
  const spans = [
    { isCurrent: 0, fromMs: bound.previousFrom, toMs: bound.previousTo },
    { isCurrent: 1, fromMs: bound.from, toMs: bound.to },
  ];
  // Where each visitor was counted last. Events come by time, so the buckets come one after the other.
  const inBucket = new Int32Array(view.texts.visitors.size).fill(-1);
  const inSpan = new Int8Array(view.texts.visitors.size).fill(-1);
  for (const { isCurrent, fromMs, toMs } of spans) {
    const total = new EventSums();
    const buckets = new Map<number, EventSums>();
    eachEvent(view, { fromMs, toMs }, (row) => {
      if (!passes(row)) return;
      const edge = edgeBelow(edges, view.events.at[row] ?? 0);
      let bucket = buckets.get(edge);
      if (bucket === undefined) {
        bucket = new EventSums();
        buckets.set(edge, bucket);
      }
      const isView = view.events.name[row] === screenView;
      bucket.add(view, row, isView);
      total.add(view, row, isView);
      if (view.events.isSynthetic[row] === 1) return;
      const visitor = visitorOf(view, row);
      if (visitor === 0) return;
      if (inBucket[visitor] !== edge) {
        inBucket[visitor] = edge;
        bucket.visitors += 1;
      }
      if (inSpan[visitor] !== isCurrent) {
        inSpan[visitor] = isCurrent;
        total.visitors += 1;
      }
    });
    if (buckets.size === 0) continue;
    const rowOf = (sums: EventSums, isTotal: number, edge: number) => ({
      isCurrent,
      isTotal,
      edge,
      screenViews: sums.screenViews,
      visitors: sums.visitors,
      revenue: sums.revenue(view),
    });
    rows.push(rowOf(total, 1, 0));
    for (const [edge, sums] of buckets) rows.push(rowOf(sums, 0, edges[edge] ?? 0));
  }
  return rows;
}

/** `metrics-sessions.sql` */
export function metricsSessions(view: SiteView, { bound, fits }: MemoryStatement): object[] {
  const byEdge = new Map<number, { edge: number; sessions: number; bounces: number; durationMs: number }>();
  const spans = [
    { fromMs: bound.previousFrom, toMs: bound.previousTo },
    { fromMs: bound.from, toMs: bound.to },
  ];
  for (const span of spans) {
    eachSession(view, span, (state) => {
      if (!fits(state)) return;
      const edge = bound.edges[edgeBelow(bound.edges, state.startedAt)] ?? 0;
      let row = byEdge.get(edge);
      if (row === undefined) {
        row = { edge, sessions: 0, bounces: 0, durationMs: 0 };
        byEdge.set(edge, row);
      }
      row.sessions += 1;
      if (state.screenViews <= 1) row.bounces += 1;
      row.durationMs += state.endedAt - state.startedAt;
    });
  }
  return [...byEdge.values()];
}

/** `active-users.sql` */
export function activeUsers(view: SiteView, { bound, passes }: MemoryStatement): object[] {
  const { edges, windowMax = 0, never = 0 } = bound;
  const lastDay = new Int32Array(view.texts.visitors.size);
  const counts = new Map<string, { day: number; daysUntilNext: number; visitors: number }>();
  const count = (day: number, next: number) => {
    const daysUntilNext = Math.min(next - day, windowMax);
    const key = `${day} ${daysUntilNext}`;
    let row = counts.get(key);
    if (row === undefined) {
      row = { day, daysUntilNext, visitors: 0 };
      counts.set(key, row);
    }
    row.visitors += 1;
  };
  eachEvent(view, { fromMs: bound.from, toMs: bound.to }, (row) => {
    if (view.events.isSynthetic[row] === 1 || !passes(row)) return;
    const visitor = visitorOf(view, row);
    if (visitor === 0) return;
    const day = edgeBelow(edges, view.events.at[row] ?? 0) + 1;
    const last = lastDay[visitor] ?? 0;
    if (last === day) return;
    if (last > 0) count(last, day);
    lastDay[visitor] = day;
  });
  for (const last of lastDay) if (last > 0) count(last, never);
  return [...counts.values()];
}

/** `event-names.sql` counts by name; ranked by `answers.ts`. */
export function eventNames(
  view: SiteView,
  { bound, passes }: MemoryStatement,
): { word: string; events: number }[] {
  const counts = new Map<number, number>();
  eachEvent(view, { fromMs: bound.from, toMs: bound.to }, (row) => {
    if (!passes(row)) return;
    const name = view.events.name[row] ?? 0;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  });
  return [...counts].map(([code, events]) => ({ word: view.texts.words.textOf(code), events }));
}
