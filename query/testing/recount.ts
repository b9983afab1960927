import type { MetricsAnswer } from '../api.ts';
import { type Figures, metricsOf } from '../figures.ts';
import type { Range, Span } from '../time/range.ts';
import type { ModelSession, SeenModelEvent } from './owner-model.ts';

/** The answer of `metrics`, by looking at every event and session once for each figure. Slow and obvious. */
export function recount(
  range: Range,
  events: readonly SeenModelEvent[],
  sessions: readonly ModelSession[],
  currency: string,
): MetricsAnswer {
  const of = (span: Span) => metricsOf(count(span, events, sessions), currency);
  return {
    metrics: of(range.span),
    previous: of(range.previous),
    series: range.buckets.map(({ fromMs, label }, index) => ({
      date: label,
      ...of({ fromMs, toMs: range.buckets[index + 1]?.fromMs ?? range.span.toMs }),
    })),
    interval: range.interval,
  };
}

function count(span: Span, events: readonly SeenModelEvent[], sessions: readonly ModelSession[]): Figures {
  const isIn = (atMs: number) => atMs >= span.fromMs && atMs < span.toMs;
  const happened = events.filter(({ atMs }) => isIn(atMs));
  const began = sessions.filter(({ startedAtMs }) => isIn(startedAtMs));
  const visitors = new Set(
    happened
      .filter(({ name }) => name !== 'session_start' && name !== 'session_end')
      .map(({ visitor }) => visitor)
      .filter((visitor) => visitor !== ''),
  );
  const revenue = new Map<string, bigint>();
  for (const { revenue: amount, currency } of happened) {
    if (amount !== 0n) revenue.set(currency, (revenue.get(currency) ?? 0n) + amount);
  }
  return {
    screenViews: happened.filter(({ name }) => name === 'screen_view').length,
    visitors: visitors.size,
    sessions: began.length,
    bounces: began.filter(({ screenViews }) => screenViews <= 1).length,
    durationMs: began.reduce((sum, session) => sum + session.endedAtMs - session.startedAtMs, 0),
    revenue,
  };
}
