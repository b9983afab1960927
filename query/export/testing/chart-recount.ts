import { must } from '../../../infra/assert.ts';
import { isCurrency, majorUnits } from '../../../infra/money.ts';
import { isSelected, type KnownEntity, type RequestedFilter } from '../../filters/testing/evaluate.ts';
import { rowOfEvent } from '../../filters/testing/visit-scene.ts';
import type { ModelVisit, SeenEvent } from '../../testing/visits.ts';
import type { Bucket } from '../../time/buckets.ts';
import type { Span } from '../../time/range.ts';
import type { ChartFigures, ChartRow, ChartsAnswer } from '../charts-api.ts';

/** A chart as requested. */
export interface RequestedChart {
  readonly series: readonly RequestedSeries[];
  readonly breakdowns: readonly string[];
  readonly filters: readonly RequestedFilter[];
  readonly previous: boolean;
  readonly limit: number;
  readonly currency?: string;
  readonly formula?: { readonly text: string; readonly of: (values: readonly number[]) => number };
}

export interface RequestedSeries {
  readonly name: string;
  readonly segment?: NonNullable<ChartRow['event']['segment']>;
  readonly property?: string;
  readonly currency?: string;
  readonly filters?: readonly RequestedFilter[];
}

export interface ChartScene {
  readonly events: readonly SeenEvent[];
  readonly visits: readonly ModelVisit[];
  readonly profiles: readonly KnownEntity[];
  readonly groups: readonly KnownEntity[];
}

/** A span and its buckets. */
export interface BucketedSpan extends Span {
  readonly buckets: readonly Bucket[];
}

/** Currency of the test's site. */
const SITE_CURRENCY = 'EUR';
const SERIES = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

interface MeasuredEvent {
  readonly names: readonly string[];
  readonly event: SeenEvent;
}

/** The figures of one row in one span. */
interface RecountedFigures {
  readonly buckets: readonly number[];
  readonly whole: number;
}

/** The response of `/export/charts`, computed by reading every event for each figure of each row. Slow and obvious. */
export function recountChart(
  chart: RequestedChart,
  scene: ChartScene,
  { current, previous }: { readonly current: BucketedSpan; readonly previous: BucketedSpan },
): ChartsAnswer {
  const measured = (series: RequestedSeries, selected: readonly SeenEvent[], span: BucketedSpan) =>
    measurable(series, selected, span)
      .filter(({ currency }) => currency === (currencyOf(chart, series) ?? currency))
      .flatMap((event) => namesOf(event, chart.breakdowns).map((names): MeasuredEvent => ({ names, event })));
  const counted = chart.series.map((series) => {
    const selected = selectedEvents(chart, series, scene);
    const now = measured(series, selected, current);
    const before = chart.previous ? measured(series, selected, previous) : [];
    return {
      combinations: now.map(({ names }) => names),
      at: (names: readonly string[]) => ({
        current: figuresIn(series, pick(now, names), current),
        previous: figuresIn(series, pick(before, names), previous),
      }),
    };
  });
  const rowsOf = (
    event: ChartRow['event'],
    several: typeof counted,
    of: (values: readonly number[]) => number,
  ) => {
    const shown = isAverage(chart, event) ? twoDecimals : fifteenDigits;
    const combinations =
      chart.breakdowns.length === 0 ? [[]] : unique(several.flatMap(({ combinations: own }) => own));
    const rows = combinations.map((names) => {
      const found = several.map(({ at }) => at(names));
      const computed = (span: 'current' | 'previous', length: number): RecountedFigures => ({
        buckets: Array.from({ length }, (_, index) => of(found.map((one) => one[span].buckets[index] ?? 0))),
        whole: of(found.map((one) => one[span].whole)),
      });
      const rounded = ({ buckets, whole }: RecountedFigures) => ({
        buckets: buckets.map(shown),
        whole: shown(whole),
      });
      const now = rounded(computed('current', current.buckets.length));
      const before = rounded(computed('previous', previous.buckets.length));
      return { names, now, before, sum: figuresOf(now).sum };
    });
    return rows
      .sort((a, b) => b.sum - a.sum || byBytes(a.names, b.names))
      .slice(0, chart.breakdowns.length === 0 ? 1 : chart.limit)
      .map(
        ({ names, now, before }): ChartRow => ({
          id: [event.id, ...names.map(encodeURIComponent)].join(':'),
          names: names.length === 0 ? [event.name] : names.map((name) => name || null),
          event: withCurrency(chart, event, names),
          metrics: { ...figuresOf(now), ...(chart.previous ? { previous: figuresOf(before) } : {}) },
          data: current.buckets.map(({ label }, index) => ({
            date: label,
            count: now.buckets[index] ?? 0,
            ...(chart.previous ? { previous: before.buckets[index] ?? 0 } : {}),
          })),
        }),
      );
  };
  const { formula } = chart;
  const series =
    formula === undefined
      ? chart.series.flatMap(({ name, segment = 'event', property }, index) => {
          const event = { id: String.fromCharCode(65 + index), name, segment };
          const count = must(counted[index], 'every series is counted');
          return rowsOf(property === undefined ? event : { ...event, property }, [count], ([one = 0]) => one);
        })
      : rowsOf({ id: 'formula', name: formula.text }, counted, formula.of);
  const total = (all: readonly ChartFigures[]): ChartFigures => ({
    sum: exactSum(all.map(({ sum }) => sum)),
    average: twoDecimals(all.length === 0 ? 0 : exactSum(all.map(({ average }) => average)) / all.length),
    min: all.length === 0 ? 0 : Math.min(...all.map(({ min }) => min)),
    max: all.length === 0 ? 0 : Math.max(...all.map(({ max }) => max)),
    count: exactSum(all.map(({ count }) => count)),
  });
  const together = (rows: readonly ChartRow[]) => ({
    ...total(rows.map(({ metrics }) => metrics)),
    ...(chart.previous ? { previous: total(rows.flatMap(({ metrics }) => metrics.previous ?? [])) } : {}),
  });
  const currencies = [...new Set(series.map(({ event }) => event.currency ?? ''))].filter(
    (one) => one !== '',
  );
  const main = series.filter(({ event: { currency = '' } }) =>
    ['', chart.currency ?? SITE_CURRENCY].includes(currency),
  );
  if (currencies.length < 2) return { series, metrics: together(series) };
  return {
    series,
    metrics: together(main),
    metricsByCurrency: Object.fromEntries(
      currencies.map((code) => [code, together(series.filter(({ event }) => event.currency === code))]),
    ),
  };
}

/** The only currency that counts in a series; undefined: all that there are. */
function currencyOf(chart: RequestedChart, series: RequestedSeries): string | undefined {
  if (series.property !== 'revenue') return undefined;
  if (series.currency !== undefined) return series.currency;
  const filter = [...(series.filters ?? []), ...chart.filters].find(
    ({ name, operator, value }) =>
      name === 'currency' && operator === 'is' && value?.length === 1 && isCurrency(String(value[0])),
  );
  const named = filter === undefined ? chart.currency : String(filter.value?.[0]);
  return chart.breakdowns.includes('currency') ? named : (named ?? SITE_CURRENCY);
}

/** Adds the currency to a row of amounts. A formula has the currency of the series that it names. */
function withCurrency(
  chart: RequestedChart,
  event: ChartRow['event'],
  names: readonly string[],
): ChartRow['event'] {
  const letters = event.id === 'formula' ? (chart.formula?.text ?? '') : event.id;
  const series = chart.series.find(
    ({ property }, index) => property === 'revenue' && letters.includes(SERIES.charAt(index)),
  );
  if (series === undefined) return event;
  const currency = currencyOf(chart, series) ?? names[chart.breakdowns.indexOf('currency')];
  return currency ? { ...event, currency } : event;
}

/**
 * The events of a series in a span that have something to measure; for `one_event_per_user`, the first of each visitor.
 */
function measurable(series: RequestedSeries, events: readonly SeenEvent[], span: Span): SeenEvent[] {
  const happened = events.filter(({ atMs }) => atMs >= span.fromMs && atMs < span.toMs);
  switch (series.segment) {
    case 'user':
    case 'user_average':
      return happened.filter((event) => event.visitor !== '');
    case 'one_event_per_user': {
      const ordered = happened
        .filter((event) => event.visitor !== '')
        .sort((a, b) => a.atMs - b.atMs || Number.parseInt(a.id, 16) - Number.parseInt(b.id, 16));
      return ordered.filter(
        (event, index) => ordered.findIndex((other) => other.visitor === event.visitor) === index,
      );
    }
    case 'session':
      return happened.filter(({ sessionId }) => sessionId !== '');
    case 'group':
      return happened.filter((event) => listIn(event, 'groups').length > 0);
    case undefined:
    case 'event':
      return happened;
    default:
      return happened.filter((event) => numberIn(event, series.property ?? '') !== undefined);
  }
}

function selectedEvents(chart: RequestedChart, series: RequestedSeries, scene: ChartScene): SeenEvent[] {
  const filters = [...chart.filters, ...(series.filters ?? [])];
  const visits = new Map(scene.visits.map((visit) => [visit.id, visit]));
  return scene.events.filter(
    (event) =>
      (series.name === '*' ? !event.name.startsWith('session_') : event.name === series.name) &&
      isSelected(filters, { ...scene, visit: visits.get(event.sessionId), event: rowOfEvent(event) }),
  );
}

function figuresIn(
  series: RequestedSeries,
  measured: readonly MeasuredEvent[],
  span: BucketedSpan,
): RecountedFigures {
  const events = measured.map(({ event }) => event);
  return {
    whole: figureOf(series, events),
    buckets: span.buckets.map(({ fromMs }, index) => {
      const toMs = span.buckets[index + 1]?.fromMs ?? span.toMs;
      return figureOf(
        series,
        events.filter(({ atMs }) => atMs >= fromMs && atMs < toMs),
      );
    }),
  };
}

function figureOf(
  { segment = 'event', property = '' }: RequestedSeries,
  events: readonly SeenEvent[],
): number {
  if (events.length === 0) return 0;
  const visitors = () => new Set(events.map(({ visitor }) => visitor)).size;
  const numbers = () => events.map((event) => must(numberIn(event, property), 'a number'));
  switch (segment) {
    case 'event':
    case 'one_event_per_user':
      return events.length;
    case 'user':
      return visitors();
    case 'user_average':
      return events.length / visitors();
    case 'session':
      return new Set(events.map(({ sessionId }) => sessionId)).size;
    case 'group':
      return new Set(events.flatMap((event) => listIn(event, 'groups'))).size;
    case 'property_sum':
      return exactSum(numbers());
    case 'property_average':
      return exactSum(numbers()) / events.length;
    case 'property_max':
      return Math.max(...numbers());
    case 'property_min':
      return Math.min(...numbers());
  }
}

/** The test numbers have at most three decimals. */
function exactSum(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + Math.round(number * 1000), 0) / 1000;
}

function listIn({ columns }: SeenEvent, column: 'groups' | 'properties'): readonly string[] {
  const list = columns?.[column];
  return Array.isArray(list) ? list : [];
}

function propertyIn(event: SeenEvent, key: string): string {
  const flat = listIn(event, 'properties');
  const at = flat.findIndex((text, index) => index % 2 === 0 && text === key);
  return at === -1 ? '' : (flat[at + 1] ?? '');
}

function numberIn(event: SeenEvent, property: string): number | undefined {
  if (property === 'revenue')
    return event.currency === '' ? undefined : majorUnits(event.revenue, event.currency);
  const text = propertyIn(event, property.replace(/^properties\./, ''));
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** The breakdown values of every row that an event is in: one row, or one for each group. */
function namesOf(event: SeenEvent, breakdowns: readonly string[]): string[][] {
  const groups = breakdowns.includes('groups') ? listIn(event, 'groups') : [];
  return (groups.length === 0 ? [''] : groups).map((group) =>
    breakdowns.map((name) => (name === 'groups' ? group : textIn(event, name))),
  );
}

function textIn(event: SeenEvent, name: string): string {
  if (name.startsWith('properties.')) return propertyIn(event, name.slice('properties.'.length));
  if (name === 'revenue') return String(numberIn(event, name) ?? '');
  if (name === 'created_at') return new Date(event.atMs).toISOString();
  if (name === 'sessionId') return event.sessionId === '' ? '' : event.sessionId.padStart(32, '0');
  const row = rowOfEvent(event);
  if (name === 'longitude')
    return Number(row.longitude) === 0 && Number(row.latitude) === 0 ? '' : String(Number(row.longitude));
  return String(Object.entries(row).find(([column]) => column === name)?.[1] ?? '');
}

function pick(events: readonly MeasuredEvent[], names: readonly string[]): readonly MeasuredEvent[] {
  return events.filter((one) => one.names.every((name, index) => name === names[index]));
}

function unique(all: readonly (readonly string[])[]): (readonly string[])[] {
  return [...new Map(all.map((names) => [names.join('\u0000'), names])).values()];
}

function figuresOf({ buckets, whole }: RecountedFigures): ChartFigures {
  return {
    sum: exactSum(buckets),
    average: twoDecimals(exactSum(buckets) / buckets.length),
    min: Math.min(...buckets),
    max: Math.max(...buckets),
    count: whole,
  };
}

/** True if the figures of a row are averages: by its segment, or because its formula divides or names averages. */
function isAverage({ series, formula }: RequestedChart, { segment }: ChartRow['event']): boolean {
  const letters = [...(formula?.text ?? '')];
  return (
    segment?.endsWith('_average') === true ||
    letters.includes('/') ||
    series.some((one, index) => letters.includes(SERIES.charAt(index)) && one.segment?.endsWith('_average'))
  );
}

function twoDecimals(number: number): number {
  return Math.round(number * 100) / 100 || 0;
}

function fifteenDigits(number: number): number {
  return Number.parseFloat(number.toPrecision(15)) || 0;
}

function byBytes(a: readonly string[], b: readonly string[]): number {
  return Buffer.compare(Buffer.from(a.join('\u0000')), Buffer.from(b.join('\u0000')));
}
