import type { ChartRow } from '../../../export/charts-api.ts';
import type { CohortInterval } from '../../../paths/retention-cohort-api.ts';
import type { ChartType, ReportDataAnswer } from '../../../reports/report-api.ts';
import { count, country, share } from '../data/format.ts';
import type { MapCountry } from '../map/world-map.tsx';
import { Cohorts } from './cohort-table.tsx';
import { FlowDiagram } from './flow-diagram.tsx';
import { FunnelSteps } from './funnel-steps.tsx';
import { later } from './later.tsx';
import { Empty } from './notice.tsx';
import { Legend, rowTitle, SeriesLines, seriesColour } from './series-lines.tsx';

const WorldMap = later(async () => (await import('../map/world-map.tsx')).WorldMap);

const ROWS = 12;
const SLICES = 6;
const RADIUS = 60;
const RING = 26;

/** Names of the chart types. */
export const CHART_TITLES: Readonly<Record<ChartType, string>> = {
  linear: 'Lines',
  area: 'Areas',
  bar: 'Bars over time',
  histogram: 'Bars by row',
  pie: 'Ring',
  metric: 'Number',
  map: 'Map',
  funnel: 'Funnel',
  retention: 'Retention',
  sankey: 'Flow',
};

/** Draws the data of a report. */
export function ReportDrawing({
  chartType,
  data,
  interval,
}: {
  readonly chartType: ChartType;
  readonly data: unknown;
  readonly interval: string;
}) {
  const drawn = { chartType, data } as Pick<ReportDataAnswer, 'chartType' | 'data'> as ReportDataAnswer;
  switch (drawn.chartType) {
    case 'funnel':
      return <FunnelSteps answer={drawn.data} />;
    case 'retention':
      return <Cohorts answer={drawn.data} interval={interval as CohortInterval} />;
    case 'sankey':
      return drawn.data.sessions === 0 ? (
        <Empty>No session in this period.</Empty>
      ) : (
        <FlowDiagram answer={drawn.data} isBackward={false} onStart={() => {}} />
      );
    default:
      return <Series chartType={drawn.chartType} rows={drawn.data.series} />;
  }
}

function Series({ chartType, rows }: { readonly chartType: ChartType; readonly rows: readonly ChartRow[] }) {
  if (rows.length === 0) return <Empty>Nothing in this period.</Empty>;
  switch (chartType) {
    case 'metric':
      return (
        <div class="numbers">
          {rows.slice(0, ROWS).map((row) => (
            <div key={row.id}>
              <span class="quiet">{rowTitle(row)}</span>
              <strong>{count(row.metrics.count)}</strong>
            </div>
          ))}
        </div>
      );
    case 'histogram':
      return <RowBars rows={rows} titleOf={rowTitle} />;
    case 'map':
      return (
        <>
          <WorldMap countries={rows.map(mapCountryOf)} unit="events" />
          <RowBars rows={rows} titleOf={(row) => row.names.map((name) => country(name ?? '')).join(', ')} />
        </>
      );
    case 'pie':
      return <Ring rows={rows} />;
    default:
      return (
        <SeriesLines rows={rows} shape={chartType === 'area' || chartType === 'bar' ? chartType : 'linear'} />
      );
  }
}

function RowBars({
  rows,
  titleOf,
}: {
  readonly rows: readonly ChartRow[];
  readonly titleOf: (row: ChartRow) => string;
}) {
  const most = Math.max(1, ...rows.map(({ metrics }) => metrics.count));
  return (
    <ol class="ranked">
      {rows.slice(0, ROWS).map((row) => (
        <li key={row.id} class="ranked-row">
          <span
            class="ranked-bar"
            style={{ inlineSize: `${(Math.max(0, row.metrics.count) / most) * 100}%` }}
          />
          <span class="ranked-label">{titleOf(row) || 'unknown'}</span>
          <span class="ranked-value">{count(row.metrics.count)}</span>
        </li>
      ))}
    </ol>
  );
}

function mapCountryOf({ names, metrics }: ChartRow): MapCountry {
  return { code: names[0] ?? '', value: metrics.count };
}

function Ring({ rows }: { readonly rows: readonly ChartRow[] }) {
  const drawn = rows.filter(({ metrics }) => metrics.count > 0).slice(0, SLICES);
  const total = rows.reduce((sum, { metrics }) => sum + Math.max(0, metrics.count), 0);
  const around = 2 * Math.PI * RADIUS;
  let before = 0;
  return (
    <div class="ring">
      <svg viewBox="-80 -80 160 160" role="img" aria-label={`Shares of ${drawn.map(rowTitle).join(', ')}`}>
        {drawn.map((row, index) => {
          const part = total === 0 ? 0 : row.metrics.count / total;
          const offset = before;
          before += part;
          return (
            <circle
              key={row.id}
              r={RADIUS}
              fill="none"
              stroke={seriesColour(index)}
              stroke-width={RING}
              stroke-dasharray={`${part * around} ${around}`}
              stroke-dashoffset={-offset * around}
              transform="rotate(-90)"
            >
              <title>{`${rowTitle(row)}: ${share(row.metrics.count, total)}`}</title>
            </circle>
          );
        })}
        {drawn.length > 0 && rows.length > drawn.length && (
          <circle
            class="ring-rest"
            r={RADIUS}
            fill="none"
            stroke-width={RING}
            stroke-dasharray={`${(1 - before) * around} ${around}`}
            stroke-dashoffset={-before * around}
            transform="rotate(-90)"
          />
        )}
      </svg>
      <Legend rows={drawn} left={rows.length - drawn.length} />
    </div>
  );
}
