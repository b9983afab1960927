import { z } from 'zod';
import { breakdownList, formulaField, SEGMENTS, seriesList } from '../export/chart-fields.ts';
import { filterSchema } from '../filters/filter.ts';
import { INTERVALS } from '../time/buckets.ts';
import { RANGES } from '../time/range.ts';
import { nameField, projectIdField } from './project-api.ts';

/** CONTRACT of the manage API: references, dashboards and reports, as stored and as returned. */

const TITLE_MAX = 200;
const DESCRIPTION_MAX = 2_000;
/** More than a date and a time with a zone. */
const DATE_MAX = 64;

const instant = z.iso.datetime();

/** The fields of every record of a site. */
const ofSite = { id: z.uuid(), projectId: z.string(), createdAt: instant, updatedAt: instant };
/** Stored but never returned: the `storedId` of the site, see `Site` in infra/accounts/accounts.ts. */
const stored = { storedId: z.string().min(1) };

/** A record as it is returned. */
export function shownRecord<Stored extends { readonly storedId: string }>({
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
  date: instant,
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
  /** `2026-03-01` (midnight in the site's time zone), or a date and time; without a zone, the site's applies. */
  date: dateText.trim(),
};

/** `POST /manage/references` */
export const referenceCreation = z.strictObject({
  projectId: projectIdField,
  ...referenceFields,
  description: referenceFields.description.default(''),
});

/** `PATCH /manage/references/{referenceId}` */
export const referenceChange = z.strictObject(referenceFields).partial();

/** `GET /manage/references` */
export const referencesQuery = z.object({ projectId: z.string().optional() });

/** A collection of reports of a site. */
export const dashboardShown = z.object({ ...ofSite, name: z.string() });
export const dashboardSchema = dashboardShown.extend(stored);
export const dashboardAnswer = z.object({ data: dashboardShown });
export const dashboardsAnswer = z.array(dashboardShown);

/** `POST /manage/projects/{projectId}/dashboards` */
export const dashboardCreation = z.strictObject({ name: nameField });

/** `PATCH /manage/projects/{projectId}/dashboards/{dashboardId}` */
export const dashboardChange = dashboardCreation.partial();

export const CHART_TYPES = [
  'linear',
  'area',
  'bar',
  'histogram',
  'pie',
  'metric',
  'map',
  'funnel',
  'retention',
  'conversion',
] as const;

/** A stored chart definition: chart type, range, and what to count. */
export const reportShown = z.object({
  ...ofSite,
  dashboardId: z.uuid(),
  name: z.string(),
  chartType: z.enum(CHART_TYPES),
  range: z.enum(RANGES),
  /** Only with a custom range. */
  startDate: z.string().optional(),
  endDate: z.string().optional(),
  interval: z.enum(INTERVALS),
  series: z.array(
    z.object({
      name: z.string(),
      filters: z.array(filterSchema).optional(),
      segment: z.enum(SEGMENTS),
      property: z.string().optional(),
    }),
  ),
  breakdowns: z.array(z.object({ name: z.string() })),
  /** Arithmetic over the series, called A, B, C, … in order. */
  formula: z.string().optional(),
});
export const reportSchema = reportShown.extend(stored);
export const reportAnswer = z.object({ data: reportShown });
export const reportsAnswer = z.array(reportShown);

const reportFields = {
  name: nameField,
  chartType: z.enum(CHART_TYPES),
  range: z.enum(RANGES).optional(),
  startDate: dateText.optional(),
  endDate: dateText.optional(),
  interval: z.enum(INTERVALS),
  series: seriesList,
  breakdowns: breakdownList,
  /** Null removes the formula. */
  formula: formulaField.nullable().optional(),
};

/** `POST …/dashboards/{dashboardId}/reports`; covers the last 30 days unless it names a range or dates. */
export const reportCreation = z.strictObject({
  ...reportFields,
  chartType: reportFields.chartType.default('linear'),
  interval: reportFields.interval.default('day'),
  breakdowns: reportFields.breakdowns.default([]),
});

/** `PATCH …/dashboards/{dashboardId}/reports/{reportId}`; given fields replace the stored ones, lists as a whole. */
export const reportChange = z.strictObject(reportFields).partial();
export type ReportChange = z.output<typeof reportChange>;
