import { z } from 'zod';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { boundedList } from '../../infra/http/bounded-list.ts';
import { instant, nameField, ofSite, projectIdField, stored } from '../definitions/record-fields.ts';
import { breakdownList, formulaField, SERIES_MAX, seriesField } from '../export/chart-fields.ts';
import { CHART_TYPES, reportOptions, reportShown } from '../reports/report-api.ts';
import { INTERVALS } from '../time/buckets.ts';
import { RANGES } from '../time/range.ts';

/** CONTRACT of the manage API: references, dashboards and reports, as stored and as returned. */

/** The most reports of a dashboard. */
export const REPORTS_MAX = 200;
const TITLE_MAX = 200;
const DESCRIPTION_MAX = 2_000;
/** More than a date and a time with a zone. */
const DATE_MAX = 64;

/** A record as it is returned. */
export function shownRecord<Stored extends { readonly storedId: StoredId }>({
  storedId: _,
  ...shown
}: Stored): Omit<Stored, 'storedId'> {
  return shown;
}

/** A date to mark on the charts of a site. */
export const referenceShown = z.object({
  ...ofSite,
  title: z.string(),
  description: z.string(),
  date: instant.describe('The marked instant, in UTC.'),
});
export const referenceSchema = referenceShown.extend(stored);
export const referenceAnswer = z.object({ data: referenceShown });
export const referencesAnswer = z.object({ data: z.array(referenceShown) });

const dateText = z.string().max(DATE_MAX, `expected at most ${DATE_MAX} characters`);

const referenceFields = {
  title: z
    .string()
    .trim()
    .min(1, 'expected a non-empty string')
    .max(TITLE_MAX, `expected at most ${TITLE_MAX} characters`),
  description: z.string().trim().max(DESCRIPTION_MAX, `expected at most ${DESCRIPTION_MAX} characters`),
  date: dateText
    .trim()
    .describe(
      'An ISO 8601 time, or a day, which stands for its midnight. Without a zone, the time zone of the site applies.',
    ),
};

/** `POST /manage/references` */
export const referenceCreation = z.strictObject({
  projectId: projectIdField,
  ...referenceFields,
  description: referenceFields.description.default(''),
});

/** `PATCH /manage/references/{referenceId}` */
export const referenceChange = z.strictObject(referenceFields).partial();

/** A collection of reports of a site. */
const reportOrder = boundedList(
  z.array(z.uuid()),
  REPORTS_MAX,
  `expected at most ${REPORTS_MAX} reports`,
).describe(
  'The ids of reports in the order in which they are shown. Reports that it does not name come before them, newest first; ids of other reports have no effect. Replaced as a whole.',
);
export const dashboardShown = z.object({ ...ofSite, name: z.string(), reportOrder: reportOrder.default([]) });
export const dashboardSchema = dashboardShown.extend(stored);
export const dashboardAnswer = z.object({ data: dashboardShown });
export const dashboardsAnswer = z.array(dashboardShown);

/** `POST /manage/projects/{projectId}/dashboards` */
export const dashboardCreation = z.strictObject({ name: nameField });

/** `PATCH /manage/projects/{projectId}/dashboards/{dashboardId}` */
export const dashboardChange = dashboardCreation.extend({ reportOrder }).partial();

export const reportAnswer = z.object({ data: reportShown });
export const reportsAnswer = z.array(reportShown);

/** Like in a chart, but there may be none: `reports/drawing.ts` knows how many a chart type needs. */
const reportSeries = boundedList(z.array(seriesField), SERIES_MAX, `expected at most ${SERIES_MAX} series`);

const reportFields = {
  name: nameField,
  chartType: z.enum(CHART_TYPES).describe('How the chart is drawn.'),
  range: z.enum(RANGES).optional().describe('A named period in the time zone of the site, or `custom`.'),
  startDate: dateText.optional().describe('The first day of a custom range.'),
  endDate: dateText.optional().describe('The last day of a custom range, included.'),
  interval: z.enum(INTERVALS).describe('The width of a bucket.'),
  series: reportSeries.describe(
    'The events to count, and how. Formulas refer to them as A, B, C, … in order.',
  ),
  breakdowns: breakdownList.describe('Fields to break each series down by.'),
  formula: formulaField
    .nullable()
    .optional()
    .describe('Arithmetic over the series, such as `A / B * 100`. Null removes it.'),
  options: reportOptions
    .nullable()
    .optional()
    .describe(
      'What a funnel, retention or sankey report needs besides the other fields. Options of another chart type are rejected. Null removes them.',
    ),
};

/** `POST …/dashboards/{dashboardId}/reports`; covers the last 30 days unless it names a range or dates. */
export const reportCreation = z.strictObject({
  ...reportFields,
  chartType: reportFields.chartType.default('linear'),
  interval: reportFields.interval.default('day'),
  series: reportFields.series.default([]),
  breakdowns: reportFields.breakdowns.default([]),
});

/** `PATCH …/dashboards/{dashboardId}/reports/{reportId}`; given fields replace the stored ones, lists as a whole. */
export const reportChange = z.strictObject(reportFields).partial();
export type ReportChange = z.output<typeof reportChange>;
