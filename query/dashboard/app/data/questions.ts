import type { MetricsAnswer, MetricsFigures } from '../../../api.ts';
import type { ReferenceShown } from '../../../definitions/definitions-api.ts';
import type { ChosenFilter, Look, Period } from './address.ts';
import { addressOf, type QueryValues } from './service.ts';
import { addDays, comparedDays } from './spans.ts';

/** Addresses of questions about the current view. */

/** The answer of `metrics`. */
export type SeriesAnswer = MetricsAnswer & { readonly references: readonly ReferenceShown[] };

/** A figure that can be drawn over time. */
export type FigureName = Exclude<
  {
    [Name in keyof MetricsFigures]: NonNullable<MetricsFigures[Name]> extends number ? Name : never;
  }[keyof MetricsFigures],
  undefined
>;

/** A question below `/insights` about the present period and filters. */
export function questionOf(look: Look, path: string, more: QueryValues = {}): string {
  return addressOf(`insights/${encodeURIComponent(look.site)}/${path}`, {
    ...periodQuery(look.period),
    filters: filtersText(look.filters),
    segment: look.segment,
    ...more,
  });
}

/** The figures of the period. With `isPartial`, those that can be reached now. */
export function metricsQuestion(look: Look, isPartial = false): string {
  return questionOf(look, 'metrics', {
    interval: look.interval,
    goal: look.own.goal,
    partial: isPartial ? 'true' : undefined,
  });
}

/** The figures of a day before today, up to the time of day that `now` is; `now` is `YYYY-MM-DD HH:MM:SS` of the site. */
export function sameTimeQuestion(look: Look, now: string, daysAgo: number): string {
  const day = addDays(now.slice(0, 10), -daysAgo);
  const span = { startDate: `${day} 00:00:00`, endDate: `${day}${now.slice(10, 16)}:00` };
  return questionOf(look, 'metrics', { ...span, range: undefined, interval: 'hour', goal: look.own.goal });
}

/** The figures of the period's comparison, in buckets of the same width. */
export function comparedQuestion(
  look: Look,
  today: string,
  interval: string | undefined,
): string | undefined {
  const days = comparedDays(look.period, look.compare, today);
  if (days === undefined || interval === undefined) return undefined;
  const { from: startDate, to: endDate } = days;
  return questionOf({ ...look, period: { range: 'custom', startDate, endDate } }, 'metrics', {
    interval,
    goal: look.own.goal,
  });
}

/** The parameter `filters`; undefined without any. */
export function filtersText(filters: readonly ChosenFilter[]): string | undefined {
  if (filters.length === 0) return undefined;
  return JSON.stringify(filters.map(({ name, operator, values }) => ({ name, operator, value: values })));
}

/** The filters with one more; one of the same field and operator takes its place. */
export function withFilter(filters: readonly ChosenFilter[], added: ChosenFilter): readonly ChosenFilter[] {
  const others = filters.filter(({ name, operator }) => name !== added.name || operator !== added.operator);
  return [...others, added];
}

/** The parameters of a period. */
export function periodQuery({ range, startDate, endDate }: Period): QueryValues {
  return range === 'custom' ? { startDate, endDate } : { range };
}
