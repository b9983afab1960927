import { chartOf, type StoredChart } from '../export/stored-chart.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { Zones } from '../time/zone.ts';
import type { Report } from './catalog.ts';
import {
  type ReportChange,
  reportAnswer,
  reportChange,
  reportCreation,
  reportsAnswer,
  shownRecord,
} from './catalog-api.ts';
import { dashboardKind } from './dashboards.ts';
import { type ManageDeps, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';
import { oneRecordEndpoints } from './record-endpoints.ts';
import {
  answerEntry,
  type ControlRecordKind,
  createRecord,
  entryOf,
  listOf,
  type RecordRequest,
  rejectMoreThan,
} from './record-kind.ts';

const ALL = '/manage/projects/:projectId/dashboards/:dashboardId/reports';
const REPORTS_MAX = 200;
/** Series and breakdowns of 64 KiB each, and the other fields. */
const BODY_MAX_BYTES = 262_144;

/** `/manage/projects/{projectId}/dashboards/{dashboardId}/reports`: stored chart definitions. */
export function reportEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const dashboards = dashboardKind(deps);
  const kind: ControlRecordKind<Report> = {
    what: 'report',
    mirror: deps.catalog.reports,
    belongs: (request) => {
      const { value: dashboard } = entryOf(dashboards, request);
      return ({ dashboardId }) => dashboardId === dashboard.id;
    },
    shown: shownRecord,
  };
  const rejectUnchartable = chartCheck(deps);
  const all = { pattern: ALL, kind: 'manage-reports', area: 'manage' as const, schema: noParameters };
  return [
    anyEndpoint({
      ...all,
      method: 'get',
      about: { summary: 'List reports', answer: reportsAnswer },
      body: undefined,
      answer: async (call) => ({ json: listOf(kind, call).map(kind.shown) }),
    }),
    anyEndpoint({
      ...all,
      method: 'post',
      about: {
        summary: 'Create a report',
        description:
          'Creates a report on a dashboard. Default range: the last 30 days; given dates imply a custom range. A definition that `GET /export/charts` rejects returns 400, with the name of the same field. Maximum: 200 reports per dashboard.',
        answer: reportAnswer,
      },
      body: reportCreation,
      bodyMaxBytes: BODY_MAX_BYTES,
      answer: async (call) => {
        const { value: dashboard } = entryOf(dashboards, call);
        rejectMoreThan(REPORTS_MAX, 'reports of the dashboard', listOf(kind, call));
        const { name, chartType, interval, series, breakdowns, formula } = call.body;
        const chart = {
          ...spanOf(call.body, { range: '30d' }),
          interval,
          series,
          breakdowns,
          formula: formula ?? undefined,
        };
        rejectUnchartable(call, chart);
        const entry = await createRecord(deps, kind.mirror, ({ id, ...times }) => ({
          id,
          projectId: dashboard.projectId,
          storedId: dashboard.storedId,
          dashboardId: dashboard.id,
          name,
          chartType,
          ...chart,
          ...times,
        }));
        return answerEntry(kind, entry);
      },
    }),
    ...oneRecordEndpoints(deps, kind, {
      pattern: `${ALL}/:reportId`,
      name: 'manage-report',
      about: {
        get: { summary: 'Get a report' },
        patch: {
          summary: 'Update a report',
          description:
            'Given fields replace the stored ones, lists as a whole. A `formula` of null removes the formula. If `GET /export/charts` would reject the result, the request returns 400 and changes nothing.',
        },
        delete: { summary: 'Delete a report', description: 'Returns the deleted report.' },
      },
      answer: reportAnswer,
      change: reportChange,
      bodyMaxBytes: BODY_MAX_BYTES,
      changed: (current, call) => {
        const next = changedReport(current, call.body);
        if (changesChart(call.body)) rejectUnchartable(call, next);
        return next;
      },
    }),
  ];
}

function changedReport(current: Report, given: ReportChange): Report {
  return {
    ...current,
    ...spanOf(given, current),
    name: given.name ?? current.name,
    chartType: given.chartType ?? current.chartType,
    interval: given.interval ?? current.interval,
    series: given.series ?? current.series,
    breakdowns: given.breakdowns ?? current.breakdowns,
    formula: given.formula === undefined ? current.formula : (given.formula ?? undefined),
  };
}

type ReportSpan = Pick<Report, 'range' | 'startDate' | 'endDate'>;

/** The range of a report: dates alone imply a custom range, and a named range removes dates. */
function spanOf({ range, startDate, endDate }: ReportChange, before: ReportSpan): ReportSpan {
  const dated = startDate !== undefined || endDate !== undefined;
  const name = range ?? (dated ? 'custom' : before.range);
  const retained = name === 'custom' ? before : undefined;
  return { range: name, startDate: startDate ?? retained?.startDate, endDate: endDate ?? retained?.endDate };
}

/** Whether a change is about more than the name and the look. */
function changesChart({ name: _, chartType: _type, ...chart }: ReportChange): boolean {
  return Object.values(chart).some((field) => field !== undefined);
}

/** Rejects a report whose chart `GET /export/charts` rejects, because such a report could never be answered. */
function chartCheck(deps: ManageDeps): (request: RecordRequest, report: StoredChart) => void {
  const zones = new Zones();
  return ({ client, path }, report) => {
    const site = ownSite(deps, client, path.projectId ?? '');
    chartOf(report, { site, zone: zones.of(site.timezone), nowMs: deps.clock.nowMs() });
  };
}
