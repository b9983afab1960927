import { SCREEN_VIEW } from '../../ingest/event.ts';
import { durationMsOf, isBounce } from '../../processor/figures.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import type { Span } from '../time/range.ts';
import { Marks, Scratch } from './marks.ts';
import type { MemoryStatement } from './memory-statement.ts';
import type { SiteView } from './site-rows.ts';
import {
  Buckets,
  bothSpans,
  eachSession,
  passingRows,
  rowSpans,
  rowsInAll,
  spanOf,
  visitorOf,
} from './walk.ts';

// Shared, because one computation runs at a time.
const inBucket = new Marks();
const inSpan = new Marks();
const nameCounts = new Scratch();

/** Sums of one bucket or span. */
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

type EventsRow = AnswerRow<'metrics-events'>;
type SessionsRow = AnswerRow<'metrics-sessions'>;
type FilteredRow = AnswerRow<'metrics-filtered'>;

/** `metrics-events` */
export function metricsEvents(view: SiteView, { bound, passes }: MemoryStatement): EventsRow[] {
  const { edges } = bound;
  const { texts } = view;
  const { at, name, amount, currency, isSynthetic } = view.events;
  const screenView = texts.words.find(SCREEN_VIEW) ?? -1;
  const answer: EventsRow[] = [];
  for (const [isCurrent, span] of bothSpans(bound).entries()) {
    const total = new EventSums();
    const found: { readonly edge: number; readonly sums: EventSums }[] = [];
    const buckets = new Buckets(edges);
    let current = -1;
    let bucket = total;
    inSpan.clear(texts.visitors.size);
    const rows = passingRows(view, span, passes);
    for (let place = 0; place < rows.length; place += 1) {
      const row = rows[place] ?? 0;
      const edge = buckets.of(at[row] ?? 0);
      // Events are sorted by time, so the buckets follow each other.
      if (edge !== current) {
        current = edge;
        bucket = new EventSums();
        found.push({ edge: edges[edge] ?? 0, sums: bucket });
        inBucket.clear(texts.visitors.size);
      }
      if (name[row] === screenView) {
        bucket.screenViews += 1;
        total.screenViews += 1;
      }
      const earned = amount[row] ?? 0;
      if (earned !== 0) {
        bucket.earn(currency[row] ?? 0, earned);
        total.earn(currency[row] ?? 0, earned);
      }
      if (isSynthetic[row] === 1) continue;
      const visitor = visitorOf(view, row);
      if (visitor === 0) continue;
      if (inBucket.isNew(visitor)) bucket.visitors += 1;
      if (inSpan.isNew(visitor)) total.visitors += 1;
    }
    if (found.length === 0) continue;
    const answerOf = (sums: EventSums, isTotal: number, edge: number) => ({
      isCurrent,
      isTotal,
      edge,
      screenViews: sums.screenViews,
      visitors: sums.visitors,
      revenue: sums.revenue(view),
    });
    answer.push(answerOf(total, 1, 0), ...found.map(({ edge, sums }) => answerOf(sums, 0, edge)));
  }
  return answer;
}

/** `metrics-events-rows` */
export function metricsEventsRows(
  view: SiteView,
  { bound }: MemoryStatement,
): AnswerRow<'metrics-events-rows'>[] {
  const { texts, hashes } = view;
  const { at, name, amount, currency, isSynthetic } = view.events;
  const screenView = texts.words.find(SCREEN_VIEW) ?? -1;
  const found: { readonly edge: number; readonly sums: EventSums; readonly visitorHashes: number[] }[] = [];
  const buckets = new Buckets(bound.edges);
  let bucket: (typeof found)[number] | undefined;
  for (const row of rowsInAll(view, rowSpans(bound))) {
    const edge = bound.edges[buckets.of(at[row] ?? 0)] ?? 0;
    // Events are sorted by time, so the buckets follow each other.
    if (bucket?.edge !== edge) {
      bucket = { edge, sums: new EventSums(), visitorHashes: [] };
      found.push(bucket);
      inBucket.clear(texts.visitors.size);
    }
    if (name[row] === screenView) bucket.sums.screenViews += 1;
    const earned = amount[row] ?? 0;
    if (earned !== 0) bucket.sums.earn(currency[row] ?? 0, earned);
    if (isSynthetic[row] === 1) continue;
    const visitor = visitorOf(view, row);
    if (visitor !== 0 && inBucket.isNew(visitor)) bucket.visitorHashes.push(hashes.ofVisitor(visitor));
  }
  return found.map(({ edge, sums, visitorHashes }) => ({
    edge,
    screenViews: sums.screenViews,
    revenue: sums.revenue(view),
    visitorHashes,
  }));
}

/** `metrics-sessions` */
export function metricsSessions(view: SiteView, statement: MemoryStatement): SessionsRow[] {
  return begunIn(view, bothSpans(statement.bound), statement);
}

/** `metrics-sessions-rows` */
export function metricsSessionsRows(view: SiteView, statement: MemoryStatement): SessionsRow[] {
  return begunIn(view, rowSpans(statement.bound), statement);
}

function begunIn(view: SiteView, spans: readonly Span[], { bound, fits }: MemoryStatement): SessionsRow[] {
  const byBucket = new Map<number, { edge: number; sessions: number; bounces: number; durationMs: number }>();
  const buckets = new Buckets(bound.edges);
  const { startedAt, endedAt, screenViews } = view.sessions;
  for (const span of spans) {
    eachSession(view, span, (slot) => {
      if (!fits(slot)) return;
      const startedMs = startedAt[slot] ?? 0;
      const bucket = buckets.of(startedMs);
      let row = byBucket.get(bucket);
      if (row === undefined) {
        row = { edge: bound.edges[bucket] ?? 0, sessions: 0, bounces: 0, durationMs: 0 };
        byBucket.set(bucket, row);
      }
      row.sessions += 1;
      if (isBounce(screenViews[slot] ?? 0)) row.bounces += 1;
      row.durationMs += durationMsOf(startedMs, endedAt[slot] ?? 0);
    });
  }
  return [...byBucket.values()];
}

const NO_EVENTS = { visitors: 0, screenViews: 0, revenue: {} };
const NO_SESSIONS = { sessions: 0, bounces: 0, durationMs: 0 };

/** `metrics-filtered`: its two kinds of rows, by bucket and by span. */
export function metricsFiltered(view: SiteView, statement: MemoryStatement): FilteredRow[] {
  const { from } = statement.bound;
  const rows = new Map<string, FilteredRow>();
  for (const row of metricsEvents(view, statement))
    rows.set(`${row.isCurrent} ${row.isTotal} ${row.edge}`, { ...row, ...NO_SESSIONS });
  const add = (isCurrent: number, isTotal: number, edge: number, begun: Omit<SessionsRow, 'edge'>) => {
    const key = `${isCurrent} ${isTotal} ${edge}`;
    const row = rows.get(key) ?? { isCurrent, isTotal, edge, ...NO_EVENTS, ...NO_SESSIONS };
    rows.set(key, {
      ...row,
      sessions: row.sessions + begun.sessions,
      bounces: row.bounces + begun.bounces,
      durationMs: row.durationMs + begun.durationMs,
    });
  };
  for (const { edge, ...begun } of metricsSessions(view, statement)) {
    const isCurrent = edge >= from ? 1 : 0;
    add(isCurrent, 0, edge, begun);
    add(isCurrent, 1, 0, begun);
  }
  return [...rows.values()];
}

/** `active-users` */
export function activeUsers(view: SiteView, { bound, passes }: MemoryStatement): AnswerRow<'active-users'>[] {
  const { edges, windowMax = 0, never = 0 } = bound;
  const { at, isSynthetic } = view.events;
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
  const rows = passingRows(view, spanOf(bound), passes);
  for (let place = 0; place < rows.length; place += 1) {
    const row = rows[place] ?? 0;
    if (isSynthetic[row] === 1) continue;
    const visitor = visitorOf(view, row);
    if (visitor === 0) continue;
    const day = buckets.of(at[row] ?? 0) + 1;
    const last = lastDay[visitor] ?? 0;
    if (last === day) continue;
    if (last > 0) count(last, day);
    lastDay[visitor] = day;
  }
  for (const last of lastDay) if (last > 0) count(last, never);
  return [...counts.values()];
}

/** `event-names` counts by name; ranked by `answers.ts`. */
export function eventNames(view: SiteView, { bound, passes }: MemoryStatement): AnswerRow<'event-names'>[] {
  const { name } = view.events;
  const counts = nameCounts.take(view.texts.words.size).fill(0);
  const rows = passingRows(view, spanOf(bound), passes);
  for (let place = 0; place < rows.length; place += 1) {
    const code = name[rows[place] ?? 0] ?? 0;
    counts[code] = (counts[code] ?? 0) + 1;
  }
  const found: AnswerRow<'event-names'>[] = [];
  for (let code = 0; code < counts.length; code += 1) {
    const events = counts[code] ?? 0;
    if (events > 0) found.push({ word: view.texts.words.textOf(code), events });
  }
  return found;
}
