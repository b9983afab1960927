import type { Mirror } from '../../infra/bus/mirror.ts';
import { nextRows } from '../cursor.ts';
import { answerCharts, chartRange } from '../export/charts.ts';
import type { Insight } from '../http/endpoint.ts';
import { withReferences } from '../insights/references.ts';
import { answerFunnel, type FunnelSources } from '../paths/funnel.ts';
import { answerCohorts } from '../paths/retention-cohort.ts';
import { answerUserFlow } from '../paths/user-flow.ts';
import { byBytes } from '../rank-order.ts';
import { RejectError } from '../reject.ts';
import type { QuestionScope, Sources } from '../snapshot/question.ts';
import { type Drawing, drawingOf } from './drawing.ts';
import {
  type ReportDataAnswer,
  type ReportDataQuery,
  type ReportListAnswer,
  type ReportListQuery,
  type ReportShown,
  reportDataAnswer,
  reportDataQuery,
  reportListAnswer,
  reportListQuery,
  type StoredReport,
} from './report-api.ts';

interface DashboardOfReports {
  readonly name: string;
  /** Ids of reports, in the order in which they are shown. */
  readonly reportOrder?: readonly string[];
}

/** The saved reports of all sites and their dashboards, kept current. */
export interface SavedReports {
  readonly reports: Pick<Mirror<StoredReport>, 'prefix' | 'get' | 'entries'>;
  readonly dashboards: Pick<Mirror<DashboardOfReports>, 'prefix' | 'get'>;
}

/** The sources of answers about reports. */
export interface ReportSources extends Sources, Pick<FunnelSources, 'funnels'> {
  readonly saved: SavedReports;
}

/** `GET /insights/{projectId}/reports` */
export function reportListInsight({ saved }: ReportSources): Insight<ReportListQuery, ReportListAnswer> {
  return {
    path: 'reports',
    about: {
      summary: 'The saved reports of the site',
      description:
        'The reports of all dashboards of the site, newest first, ties by id. Reports are created below `/manage/projects/{projectId}/dashboards`. A change there is visible within moments.',
      answer: reportListAnswer,
    },
    schema: reportListQuery,
    answer: async (scope, query) => answerReportList(saved, scope, query),
    next: nextRows,
  };
}

/** `GET /insights/{projectId}/reports/{reportId}/data` */
export function reportDataInsight(sources: ReportSources): Insight<ReportDataQuery, ReportDataAnswer> {
  return {
    path: 'reports/:reportId/data',
    about: {
      summary: 'A saved report and what it shows',
      description: [
        'Returns the report and, as `data`, what the endpoint of its chart type returns for the same definition now: `GET /export/charts` for `linear`, `area`, `bar`, `histogram`, `pie`, `metric` and `map`; `funnel` for `funnel`, whose steps are the series; `retention/cohort` for `retention`; `user_flow` for `sankey`.',
        'Returns 404 for a report of another site. A report that can no longer be drawn returns 400, with the name of its field: one that was saved before its chart type had a definition, such as a funnel of one step, or one whose range has since grown beyond a limit.',
      ].join('\n\n'),
      answer: reportDataAnswer,
    },
    schema: reportDataQuery,
    answer: (scope, query, { reportId = '' } = {}) => answerReportData(sources, scope, query, reportId),
  };
}

/** A page of the reports of a site, newest first. */
function answerReportList(
  { reports, dashboards }: SavedReports,
  { site }: QuestionScope,
  { cursor, limit }: ReportListQuery,
): ReportListAnswer {
  const own = [...reports.entries()]
    .map(({ value }) => value)
    .filter(({ storedId }) => storedId === site.storedId)
    .flatMap((report) => {
      // A dashboard is deleted before its reports are.
      const dashboard = dashboards.get(dashboards.prefix + report.dashboardId);
      return dashboard === undefined ? [] : [{ report, dashboard }];
    });
  own.sort((a, b) => byBytes(b.report.createdAt, a.report.createdAt) || byBytes(a.report.id, b.report.id));
  const positions = positionsOf(own);
  return own.slice(cursor, cursor + limit).map(({ report, dashboard }) => {
    const { id, dashboardId, name, chartType, range, startDate, endDate, interval } = report;
    const { createdAt, updatedAt } = report;
    return {
      ...{ id, dashboardId, dashboardName: dashboard.name, position: positions.get(id) ?? 0 },
      ...{ name, chartType, range },
      ...(startDate === undefined ? {} : { startDate }),
      ...(endDate === undefined ? {} : { endDate }),
      ...{ interval, createdAt, updatedAt },
    };
  });
}

/** The place of each report on its dashboard. The reports are newest first. */
function positionsOf(
  reports: readonly { readonly report: StoredReport; readonly dashboard: DashboardOfReports }[],
): ReadonlyMap<string, number> {
  const byDashboard = new Map<string, { readonly id: string; readonly place: number }[]>();
  for (const { report, dashboard } of reports) {
    const shown = byDashboard.get(report.dashboardId) ?? [];
    byDashboard.set(report.dashboardId, shown);
    shown.push({ id: report.id, place: dashboard.reportOrder?.indexOf(report.id) ?? -1 });
  }
  return new Map(
    [...byDashboard.values()].flatMap((shown) =>
      shown.sort((a, b) => a.place - b.place).map(({ id }, position) => [id, position] as const),
    ),
  );
}

/**
 * Returns a report with its present data.
 * @throws {RejectError} 404 when the site has no such report; 400 when it cannot be drawn
 */
async function answerReportData(
  sources: ReportSources,
  scope: QuestionScope,
  { partial }: ReportDataQuery,
  reportId: string,
): Promise<ReportDataAnswer> {
  const { reports, dashboards } = sources.saved;
  const stored = reports.get(reports.prefix + reportId.toLowerCase());
  const isShown =
    stored?.storedId === scope.site.storedId &&
    dashboards.get(dashboards.prefix + stored.dashboardId) !== undefined;
  if (stored === undefined || !isShown)
    throw new RejectError('unknown-record', `no such report: ${JSON.stringify(reportId)}`);
  const { storedId: _, ...report } = stored;
  return answerDrawing(sources, scope, drawingOf(report, scope), { report, partial });
}

async function answerDrawing(
  sources: Sources & FunnelSources,
  scope: QuestionScope,
  drawing: Drawing,
  { report, partial }: { readonly report: ReportShown; readonly partial: boolean },
): Promise<ReportDataAnswer> {
  switch (drawing.kind) {
    case 'series':
      return {
        chartType: drawing.chartType,
        report,
        data: withReferences(
          await answerCharts(sources, scope, { ...drawing.query, partial }),
          chartRange(drawing.query),
          scope,
        ),
      };
    case 'funnel':
      return {
        chartType: 'funnel',
        report,
        data: await answerFunnel(sources, scope, { ...drawing.query, partial }),
      };
    case 'retention':
      return {
        chartType: 'retention',
        report,
        data: await answerCohorts(sources, scope, { ...drawing.query, partial }),
      };
    case 'sankey':
      return {
        chartType: 'sankey',
        report,
        data: await answerUserFlow(sources, scope, { ...drawing.query, partial }),
      };
  }
}
