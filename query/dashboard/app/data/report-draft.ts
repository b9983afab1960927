import type { Segment } from '../../../export/chart-fields.ts';
import type { ChartType, ReportShown } from '../../../reports/report-api.ts';
import type { Interval } from '../../../time/buckets.ts';
import type { RangeName } from '../../../time/range.ts';
import { addressOf } from './service.ts';

/** A report while it is made. */
export interface ReportDraft {
  readonly name: string;
  readonly chartType: ChartType;
  readonly range: RangeName;
  readonly interval: Interval;
  readonly series: readonly DraftSeries[];
  /** A field of events; empty for none. */
  readonly breakdown: string;
  /** Empty for none. */
  readonly formula: string;
}

export interface DraftSeries {
  readonly name: string;
  readonly segment: Segment;
  /** The property that a `property_` segment reads; empty for none. */
  readonly property: string;
}

export const ANY_EVENT = '*';
export const NEW_REPORT: ReportDraft = {
  name: '',
  chartType: 'linear',
  range: '30d',
  interval: 'day',
  series: [{ name: ANY_EVENT, segment: 'event', property: '' }],
  breakdown: '',
  formula: '',
};

/** The parts that a chart type needs besides its range. */
export function partsOf(chartType: ChartType): {
  readonly series: boolean;
  readonly segments: boolean;
  readonly breakdown: boolean;
} {
  const isSeries = !['funnel', 'retention', 'sankey'].includes(chartType);
  return {
    series: isSeries || chartType === 'funnel',
    segments: isSeries,
    breakdown: isSeries || chartType === 'funnel',
  };
}

export function draftOf(report: ReportShown): ReportDraft {
  return {
    name: report.name,
    chartType: report.chartType,
    range: report.range === 'custom' ? '30d' : report.range,
    interval: report.interval,
    series: report.series.map(({ name, segment, property = '' }) => ({ name, segment, property })),
    breakdown: report.breakdowns[0]?.name ?? '',
    formula: report.formula ?? '',
  };
}

/** The draft as Manage stores it. */
export function bodyOf({
  name,
  chartType,
  range,
  interval,
  series,
  breakdown,
  formula,
}: ReportDraft): object {
  const parts = partsOf(chartType);
  return {
    name,
    chartType,
    range,
    interval,
    series: parts.series ? series.map((one) => seriesOf(one, parts.segments)) : [],
    breakdowns: parts.breakdown && breakdown !== '' ? [{ name: breakdown }] : [],
    formula: parts.segments && formula !== '' ? formula : null,
  };
}

/** The question for the draft's figures; undefined while something is missing. */
export function questionOfDraft(draft: ReportDraft, site: string): string | undefined {
  const { chartType, range, interval, series, breakdown, formula } = draft;
  const base = `insights/${encodeURIComponent(site)}`;
  const breakdowns = breakdown === '' ? undefined : JSON.stringify([{ name: breakdown }]);
  switch (chartType) {
    case 'funnel':
      if (series.length < 2) return undefined;
      return addressOf(`${base}/funnel`, {
        range,
        steps: JSON.stringify(series.map(({ name }) => name)),
        breakdown: breakdown === '' ? undefined : breakdown,
      });
    case 'retention':
      return addressOf(`${base}/retention/cohort`, { range, interval });
    case 'sankey':
      return addressOf(`${base}/user_flow`, { range });
    default:
      if (series.length === 0) return undefined;
      return addressOf('export/charts', {
        projectId: site,
        range,
        interval,
        series: JSON.stringify(series.map((one) => seriesOf(one, true))),
        breakdowns,
        formula: formula === '' ? undefined : formula,
      });
  }
}

function seriesOf({ name, segment, property }: DraftSeries, hasSegment: boolean): object {
  if (!hasSegment) return { name, segment: 'event' };
  return { name, segment, ...(property !== '' && segment.startsWith('property_') && { property }) };
}
