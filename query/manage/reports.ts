import type { AnyEndpoint } from '../http/serve.ts';
import { drawingOf, isSeriesType, type ReportDefinition } from '../reports/drawing.ts';
import { Zones } from '../time/zone.ts';
import type { Dashboard, Report } from './catalog.ts';
import {
  REPORTS_MAX,
  type ReportChange,
  reportAnswer,
  reportChange,
  reportCreation,
  reportsAnswer,
  shownRecord,
} from './catalog-api.ts';
import { dashboardKind } from './dashboards.ts';
import { type ManageDeps, ownSite } from './manage.ts';
import { recordEndpoints } from './record-endpoints.ts';
import { entryOf, type RecordRequest } from './record-kind.ts';
import type { Parent } from './record-parents.ts';

/** Series and breakdowns of 64 KiB each, and the other fields. */
const BODY_MAX_BYTES = 262_144;

/** `/manage/projects/{projectId}/dashboards/{dashboardId}/reports`: stored definitions of drawings. */
export function reportEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const rejectUndrawable = drawingCheck(deps);
  return recordEndpoints(deps, {
    ...dashboardInPath(deps),
    what: 'report',
    mirror: deps.catalog.reports,
    shown: shownRecord,
    about: {
      list: {
        summary: 'List reports',
        description:
          'Returns the reports of the dashboard, newest first. A report is a stored chart definition.',
      },
      create: {
        summary: 'Create a report',
        description:
          'Creates a report on a dashboard. Default range: the last 30 days; given dates imply a custom range. A report that cannot be drawn returns 400, with the name of the field: `GET /insights/{projectId}/reports/{reportId}/data` could never return it. `linear`, `area`, `bar`, `histogram`, `pie`, `metric` and `map` need what `GET /export/charts` accepts. A `funnel` needs 2 to 10 series of the segment `event` as its steps, and at most one breakdown. `retention` needs an `interval` of `day`, `week` or `month` and names its events in `options`, or as two series; `sankey` needs `options` alone. Maximum: 200 reports per dashboard.',
      },
      get: { summary: 'Get a report', description: 'The report must belong to the dashboard in the path.' },
      change: {
        summary: 'Update a report',
        description:
          'Given fields replace the stored ones, lists as a whole. A `formula` or `options` of null removes them. Options are also removed when the report becomes one of another kind: series, `funnel`, `retention` or `sankey`. If the result cannot be drawn, the request returns 400 and changes nothing.',
      },
      delete: { summary: 'Delete a report', description: 'Returns the deleted report.' },
    },
    answers: { list: reportsAnswer, one: reportAnswer },
    creation: reportCreation,
    change: reportChange,
    bodyMaxBytes: BODY_MAX_BYTES,
    limits: [{ max: REPORTS_MAX, what: 'reports of the dashboard' }],
    make: (call, { id: dashboardId, projectId, storedId }) => {
      const { name, chartType, interval, series, breakdowns, formula, options } = call.body;
      const drawn = {
        ...spanOf(call.body, { range: '30d' }),
        chartType,
        interval,
        series,
        breakdowns,
        formula: formula ?? undefined,
        options: options ?? undefined,
      };
      rejectUndrawable(call, drawn);
      return {
        record: ({ id, ...times }) => ({
          id,
          projectId,
          storedId,
          dashboardId,
          name,
          ...drawn,
          ...times,
        }),
      };
    },
    changed: (current, call) => {
      const next = changedReport(current, call.body);
      if (changesDrawing(call.body, current)) rejectUndrawable(call, next);
      return next;
    },
  });
}

/** A report belongs to the dashboard in the path, which belongs to the site there. */
function dashboardInPath(deps: ManageDeps): Parent<Pick<Report, 'dashboardId'>, Dashboard, unknown> {
  const dashboards = dashboardKind(deps);
  const owner = (request: RecordRequest) => entryOf(dashboards, request).value;
  return {
    path: '/manage/projects/:projectId/dashboards/:dashboardId',
    belongs: (request) => {
      const { id } = owner(request);
      return ({ dashboardId }) => dashboardId === id;
    },
    owner,
  };
}

function changedReport(current: Report, given: ReportChange): Report {
  const options = changesKind(given, current) ? undefined : current.options;
  return {
    ...current,
    ...spanOf(given, current),
    name: given.name ?? current.name,
    chartType: given.chartType ?? current.chartType,
    interval: given.interval ?? current.interval,
    series: given.series ?? current.series,
    breakdowns: given.breakdowns ?? current.breakdowns,
    formula: given.formula === undefined ? current.formula : (given.formula ?? undefined),
    options: given.options === undefined ? options : (given.options ?? undefined),
  };
}

type ReportSpan = Pick<Report, 'range' | 'startDate' | 'endDate'>;

/** Resolves the range of a report: dates imply a custom range, and a named range removes dates. */
function spanOf({ range, startDate, endDate }: ReportChange, before: ReportSpan): ReportSpan {
  const dated = startDate !== undefined || endDate !== undefined;
  const name = range ?? (dated ? 'custom' : before.range);
  const retained = name === 'custom' ? before : undefined;
  return { range: name, startDate: startDate ?? retained?.startDate, endDate: endDate ?? retained?.endDate };
}

/** True if a change affects more than the name and the look. */
function changesDrawing({ name: _, chartType, ...drawn }: ReportChange, current: Report): boolean {
  return changesKind({ chartType }, current) || Object.values(drawn).some((field) => field !== undefined);
}

/** True if a report is to be drawn from other figures; all types that show series use the same ones. */
function changesKind({ chartType }: Pick<ReportChange, 'chartType'>, current: Report): boolean {
  if (chartType === undefined || chartType === current.chartType) return false;
  return !isSeriesType(chartType) || !isSeriesType(current.chartType);
}

/** Rejects a report that cannot be drawn, because such a report could never be answered. */
function drawingCheck(deps: ManageDeps): (request: RecordRequest, report: ReportDefinition) => void {
  const zones = new Zones();
  return ({ client, path }, report) => {
    const site = ownSite(deps, client, path.projectId ?? '');
    drawingOf(report, { site, zone: zones.of(site.timezone), nowMs: deps.clock.nowMs() });
  };
}
