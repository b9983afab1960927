import { SCREEN_VIEW } from '../../ingest/event.ts';
import { Marks } from './marks.ts';
import type { MemoryStatement } from './memory-statement.ts';
import type { SiteView } from './site-rows.ts';
import { Buckets, eachSession, rowsIn, visitorOf } from './walk.ts';

// One computation runs at a time, so they share their marks.
const inBucket = new Marks();
const inSpan = new Marks();

/** What one bucket or span adds up to. */
class EventSums {
  screenViews = 0;
  visitors = 0;
  readonly #revenue = new Map<number, number>();

  earn(currency: number, amount: number): void {
    this.#revenue.set(currency, (this.#revenue.get(currency) ?? 0) + amount);
  }

  revenue({ texts }: SiteView): Record<string, string> {
    const entries = [...this.#revenue].map(([code, amount]) => [texts.words.textOf(code), String(amount)]);
    return Object.fromEntries(entries) as Record<string, string>;
  }
}

/** What sessions that began in one bucket or span add up to. */
interface Begun {
  readonly sessions: number;
  readonly bounces: number;
  readonly durationMs: number;
}

interface EventsRow {
  readonly isCurrent: number;
  readonly isTotal: number;
  readonly edge: number;
  readonly screenViews: number;
  readonly visitors: number;
  readonly revenue: Record<string, string>;
}

/** `metrics-events.sql` */
export function metricsEvents(view: SiteView, { bound, passes }: MemoryStatement): EventsRow[] {
  const { edges, from, to, previousFrom, previousTo } = bound;
  const { events, texts } = view;
  const screenView = texts.words.find(SCREEN_VIEW) ?? -1;
  const rows: EventsRow[] = [];
  const spans = [
    { isCurrent: 0, fromMs: previousFrom, toMs: previousTo },
    { isCurrent: 1, fromMs: from, toMs: to },
  ];
  for (const { isCurrent, ...span } of spans) {
    const total = new EventSums();
    const found: { readonly edge: number; readonly sums: EventSums }[] = [];
    const buckets = new Buckets(edges);
    let current = -1;
    let bucket = total;
    inSpan.clear(texts.visitors.size);
    for (const row of rowsIn(view, span)) {
      if (!passes(row)) continue;
      const edge = buckets.of(events.at[row] ?? 0);
      // Events come by time, so the buckets come one after the other.
      if (edge !== current) {
        current = edge;
        bucket = new EventSums();
        found.push({ edge: edges[edge] ?? 0, sums: bucket });
        inBucket.clear(texts.visitors.size);
      }
      if (events.name[row] === screenView) {
        bucket.screenViews += 1;
        total.screenViews += 1;
      }
      const amount = events.amount[row] ?? 0;
      if (amount !== 0) {
        bucket.earn(events.currency[row] ?? 0, amount);
        total.earn(events.currency[row] ?? 0, amount);
      }
      if (events.isSynthetic[row] === 1) continue;
      const visitor = visitorOf(view, row);
      if (visitor === 0) continue;
      if (inBucket.isNew(visitor)) bucket.visitors += 1;
      if (inSpan.isNew(visitor)) total.visitors += 1;
    }
    if (found.length === 0) continue;
    const rowOf = (sums: EventSums, isTotal: number, edge: number) => ({
      isCurrent,
      isTotal,
      edge,
      screenViews: sums.screenViews,
      visitors: sums.visitors,
      revenue: sums.revenue(view),
    });
    rows.push(rowOf(total, 1, 0), ...found.map(({ edge, sums }) => rowOf(sums, 0, edge)));
  }
  return rows;
}

/** `metrics-sessions.sql` */
export function metricsSessions(
  view: SiteView,
  { bound, fits }: MemoryStatement,
): ({ readonly edge: number } & Begun)[] {
  const byBucket = new Map<number, { edge: number; sessions: number; bounces: number; durationMs: number }>();
  const buckets = new Buckets(bound.edges);
  const spans = [
    { fromMs: bound.previousFrom, toMs: bound.previousTo },
    { fromMs: bound.from, toMs: bound.to },
  ];
  for (const span of spans) {
    eachSession(view, span, (state, slot) => {
      if (!fits(state, slot)) return;
      const bucket = buckets.of(state.startedAt);
      let row = byBucket.get(bucket);
      if (row === undefined) {
        row = { edge: bound.edges[bucket] ?? 0, sessions: 0, bounces: 0, durationMs: 0 };
        byBucket.set(bucket, row);
      }
      row.sessions += 1;
      if (state.screenViews <= 1) row.bounces += 1;
      row.durationMs += state.endedAt - state.startedAt;
    });
  }
  return [...byBucket.values()];
}

/** `metrics-filtered.sql`: the rows of both, by bucket and by span. */
export function metricsFiltered(view: SiteView, statement: MemoryStatement): object[] {
  const { from } = statement.bound;
  const rows = new Map<string, Partial<EventsRow & Begun>>();
  for (const row of metricsEvents(view, statement))
    rows.set(`${row.isCurrent} ${row.isTotal} ${row.edge}`, row);
  const add = (isCurrent: number, isTotal: number, edge: number, begun: Begun) => {
    const key = `${isCurrent} ${isTotal} ${edge}`;
    const { sessions = 0, bounces = 0, durationMs = 0, ...row } = rows.get(key) ?? {};
    rows.set(key, {
      ...{ isCurrent, isTotal, edge, visitors: 0, ...row },
      sessions: sessions + begun.sessions,
      bounces: bounces + begun.bounces,
      durationMs: durationMs + begun.durationMs,
    });
  };
  for (const { edge, ...begun } of metricsSessions(view, statement)) {
    const isCurrent = edge >= from ? 1 : 0;
    add(isCurrent, 0, edge, begun);
    add(isCurrent, 1, 0, begun);
  }
  return [...rows.values()];
}

/** `active-users.sql` */
export function activeUsers(view: SiteView, { bound, passes }: MemoryStatement): object[] {
  const { edges, windowMax = 0, never = 0, from, to } = bound;
  const { events } = view;
  const lastDay = new Int32Array(view.texts.visitors.size);
  const counts = new Map<number, { day: number; daysUntilNext: number; visitors: number }>();
  const count = (day: number, next: number) => {
    const daysUntilNext = Math.min(next - day, windowMax);
    const key = day * (windowMax + 1) + daysUntilNext;
    let row = counts.get(key);
    if (row === undefined) {
      row = { day, daysUntilNext, visitors: 0 };
      counts.set(key, row);
    }
    row.visitors += 1;
  };
  const buckets = new Buckets(edges);
  for (const row of rowsIn(view, { fromMs: from, toMs: to })) {
    if (events.isSynthetic[row] === 1 || !passes(row)) continue;
    const visitor = visitorOf(view, row);
    if (visitor === 0) continue;
    const day = buckets.of(events.at[row] ?? 0) + 1;
    const last = lastDay[visitor] ?? 0;
    if (last === day) continue;
    if (last > 0) count(last, day);
    lastDay[visitor] = day;
  }
  for (const last of lastDay) if (last > 0) count(last, never);
  return [...counts.values()];
}

/** `event-names.sql` counts by name; ranked by `answers.ts`. */
export function eventNames(
  view: SiteView,
  { bound, passes }: MemoryStatement,
): { word: string; events: number }[] {
  const counts = new Map<number, number>();
  for (const row of rowsIn(view, { fromMs: bound.from, toMs: bound.to })) {
    if (!passes(row)) continue;
    const name = view.events.name[row] ?? 0;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([code, events]) => ({ word: view.texts.words.textOf(code), events }));
}
