import { majorUnits } from '../infra/money.ts';
import type { MetricsFigures } from './api.ts';

/** The figures of one span of time, from any source. Only counts and totals, which can be added up. */
export interface Figures {
  readonly screenViews: number;
  readonly visitors: number;
  readonly sessions: number;
  readonly bounces: number;
  readonly durationMs: number;
  /** Minor units by currency. */
  readonly revenue: ReadonlyMap<string, bigint>;
}

/** The figures of a range: as a whole, of the span before, and of each bucket in order. */
export interface RangeFigures {
  readonly current: Figures;
  readonly previous: Figures;
  readonly buckets: readonly Figures[];
}

/** Figures in a row of a statement; each statement has some of them. */
export interface FigureRow {
  readonly screenViews?: number;
  readonly sessions?: number;
  readonly bounces?: number;
  readonly durationMs?: number;
  /** Minor units by currency. Text, because a double may be too small. */
  readonly revenue?: Readonly<Record<string, string>>;
}

/** Adds up disjoint rows. Visitors may be in several rows, so the caller counts them. */
export function addFigures(rows: readonly (FigureRow | undefined)[], visitors: number): Figures {
  const revenue = new Map<string, bigint>();
  let [screenViews, sessions, bounces, durationMs] = [0, 0, 0, 0];
  for (const row of rows) {
    screenViews += row?.screenViews ?? 0;
    sessions += row?.sessions ?? 0;
    bounces += row?.bounces ?? 0;
    durationMs += row?.durationMs ?? 0;
    for (const [currency, amount] of Object.entries(row?.revenue ?? {})) {
      revenue.set(currency, (revenue.get(currency) ?? 0n) + BigInt(amount));
    }
  }
  for (const [currency, amount] of revenue) if (amount === 0n) revenue.delete(currency);
  return { screenViews, visitors, sessions, bounces, durationMs, revenue };
}

/** The figures of an answer. Rates and averages are rounded to two decimals, and 0 without sessions. */
export function metricsOf(figures: Figures, siteCurrency: string): MetricsFigures {
  const { sessions } = figures;
  const byCurrency: Record<string, number> = {};
  for (const [currency, minorUnits] of [...figures.revenue].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (minorUnits !== 0n) byCurrency[currency] = majorUnits(minorUnits, currency);
  }
  return {
    bounce_rate: ratio(figures.bounces * 100, sessions),
    unique_visitors: figures.visitors,
    total_sessions: sessions,
    avg_session_duration: ratio(figures.durationMs / 1000, sessions),
    total_screen_views: figures.screenViews,
    views_per_session: ratio(figures.screenViews, sessions),
    total_revenue: byCurrency[siteCurrency] ?? 0,
    revenue_by_currency: byCurrency,
  };
}

/** A rate or an average as in every answer: two decimals; 0 if `of` is 0. */
export function ratio(value: number, of: number): number {
  return of === 0 ? 0 : twoDecimals(value / of);
}

/** Rounds half up, and gives no -0. A number too large for decimals in a double is unchanged. */
export function twoDecimals(number: number): number {
  const hundredths = Math.round(number * 100);
  return Number.isSafeInteger(hundredths) ? hundredths / 100 || 0 : number;
}
