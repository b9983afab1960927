import { z } from 'zod';
import { flag } from '../api.ts';
import { recordTimes, stored } from '../definitions/record-fields.ts';
import { SEGMENTS } from '../export/chart-fields.ts';
import { chartsAnswer } from '../export/charts-api.ts';
import { filterSchema, storedFilterList } from '../filters/filter.ts';
import { listFields, pageLimit } from '../insights/list-api.ts';
import { funnelAnswer } from '../paths/funnel-api.ts';
import { cohortAnswer } from '../paths/retention-cohort-api.ts';
import { userFlowAnswer } from '../paths/user-flow-api.ts';
import { INTERVALS } from '../time/buckets.ts';
import { RANGES } from '../time/range.ts';

/** CONTRACT of reports: their limits, their stored and returned form, and the questions below `/insights` about them. */

/** Chart types that show the figures of `GET /export/charts`. */
export const SERIES_TYPES = ['linear', 'area', 'bar', 'histogram', 'pie', 'metric', 'map'] as const;
/** Every chart type; each has something that draws it. */
export const CHART_TYPES = [...SERIES_TYPES, 'funnel', 'retention', 'sankey'] as const;
export type SeriesType = (typeof SERIES_TYPES)[number];
export type ChartType = (typeof CHART_TYPES)[number];

/** A chart type that reports could have, which showed series and had no drawing of its own. */
const FORMER_TYPE = 'conversion';

const NAME_MAX = 80;
const START_MAX = 4_096;

const optionFields = {
  windowHours: z
    .int()
    .min(1)
    .max(720)
    .optional()
    .describe('Funnel: how many hours after step 1 the last step may happen. Default: 24.'),
  groupBy: z
    .enum(['session_id', 'profile_id'])
    .optional()
    .describe('Funnel: whether a user is a session or a visitor. Default: `session_id`.'),
  firstEvent: z
    .string()
    .min(1, 'expected a non-empty string')
    .max(NAME_MAX, `expected at most ${NAME_MAX} characters`)
    .optional()
    .describe('Retention: the event that begins a cohort. Default: every event.'),
  event: z
    .string()
    .min(1, 'expected a non-empty string')
    .max(NAME_MAX, `expected at most ${NAME_MAX} characters`)
    .optional()
    .describe('Retention: the event that counts as a return. Default: every event.'),
  by: z
    .enum(['pages', 'events'])
    .optional()
    .describe('Sankey: whether the nodes are paths or names of events. Default: `pages`.'),
  start: z
    .string()
    .min(1, 'expected a non-empty string')
    .max(START_MAX, `expected at most ${START_MAX} characters`)
    .optional()
    .describe('Sankey: the path or event name of column 0. Default: whatever a session begins or ends with.'),
  direction: z
    .enum(['forward', 'backward'])
    .optional()
    .describe('Sankey: whether to follow what comes after or before `start`. Default: `forward`.'),
  depth: z.int().min(1).max(8).optional().describe('Sankey: the number of steps to follow. Default: 4.'),
  limit: z
    .int()
    .min(1)
    .max(30)
    .optional()
    .describe('Sankey: the values of a column with a node. Default: 8.'),
};
const FILTERS_MEANING =
  'Funnel, retention and sankey: filters on all events, as the endpoint of the type applies them.';
const OPTIONS_MEANING =
  'What a funnel, retention or sankey report needs besides the other fields. Options of another chart type are rejected.';

/** The options of a report in a request. */
export const reportOptions = z
  .strictObject({ ...optionFields, filters: storedFilterList.optional().describe(FILTERS_MEANING) })
  .describe(OPTIONS_MEANING);

const shownOptions = z
  .object({ ...optionFields, filters: z.array(filterSchema).optional().describe(FILTERS_MEANING) })
  .describe(OPTIONS_MEANING);
export type ReportOptions = z.output<typeof shownOptions>;

const head = {
  id: z.uuid().describe('The id of the report.'),
  dashboardId: z.uuid().describe('The dashboard of the report.'),
  name: z.string().describe('The name of the report.'),
  chartType: z
    .enum(CHART_TYPES)
    .describe(
      'How the report is drawn. `funnel`, `retention` and `sankey` show the answers of `funnel`, `retention/cohort` and `user_flow`; all others show the series of `GET /export/charts`.',
    ),
  range: z.enum(RANGES).describe('The range of the report.'),
  startDate: z.string().optional().describe('With a custom range: its first day, or an instant.'),
  endDate: z.string().optional().describe('With a custom range: its last day, or an instant.'),
  interval: z
    .enum(INTERVALS)
    .describe('The width of a bucket, or of a cohort. Funnels and sankeys have none.'),
};

/** A saved report, as it is returned. */
export const reportShown = z.object({
  ...head,
  projectId: z.string().describe('The site of the report.'),
  ...recordTimes,
  series: z
    .array(
      z.object({
        name: z.string().describe('The name of the event; `*` for every event.'),
        filters: z.array(filterSchema).optional().describe('What else must hold for the event to count.'),
        segment: z.enum(SEGMENTS).describe('What is counted.'),
        property: z.string().optional().describe('The property that a `property_` segment reads.'),
        currency: z.string().optional().describe('For `revenue`: the only currency that counts.'),
      }),
    )
    .describe(
      'What is counted; for a funnel, its steps. For retention, none, or the events that begin a cohort and that count as a return, in place of `options`. Empty for sankey.',
    ),
  breakdowns: z
    .array(z.object({ name: z.string().describe('The name of an event field.') }))
    .describe('Fields that each series, or the funnel, is broken down by.'),
  formula: z
    .string()
    .optional()
    .describe('Arithmetic over the series, which are called A, B, C, … in order.'),
  options: shownOptions.optional(),
});
export type ReportShown = z.output<typeof reportShown>;

/**
 * A stored report. A report with the chart type that no longer exists is read as lines, because it showed the same figures.
 * Options of a later version do not make a report unreadable.
 */
export const reportSchema = reportShown.extend({
  ...stored,
  chartType: z
    .enum([...CHART_TYPES, FORMER_TYPE])
    .transform((type): ChartType => (type === FORMER_TYPE ? 'linear' : type)),
});
export type StoredReport = z.output<typeof reportSchema>;

const LISTED = 100;

/** `GET /insights/{projectId}/reports` */
export const reportListQuery = z.object({ cursor: listFields.cursor, limit: pageLimit(LISTED) });
export type ReportListQuery = z.output<typeof reportListQuery>;

export const reportListAnswer = z.array(
  z.object({
    ...head,
    dashboardName: z.string().describe('The name of the dashboard.'),
    position: z
      .number()
      .describe('Its place on the dashboard, from 0: as `reportOrder` of the dashboard says, see Manage.'),
    ...recordTimes,
  }),
);
export type ReportListAnswer = z.output<typeof reportListAnswer>;

/** `GET /insights/{projectId}/reports/{reportId}/data` */
export const reportDataQuery = z.object({
  partial: flag.describe('Answer without data that cannot be reached now, instead of with 503.'),
});
export type ReportDataQuery = z.output<typeof reportDataQuery>;

/** A report and its figures; `chartType` selects the kind of answer. */
export const reportDataAnswer = z.discriminatedUnion('chartType', [
  z.object({
    chartType: z.enum(SERIES_TYPES).describe('A type that shows series.'),
    report: reportShown,
    data: chartsAnswer,
  }),
  z.object({ chartType: z.literal('funnel'), report: reportShown, data: funnelAnswer }),
  z.object({ chartType: z.literal('retention'), report: reportShown, data: cohortAnswer }),
  z.object({ chartType: z.literal('sankey'), report: reportShown, data: userFlowAnswer }),
]);
export type ReportDataAnswer = z.output<typeof reportDataAnswer>;
