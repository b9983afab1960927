import { z } from 'zod';
import { breakdownList, formulaField, SEGMENTS, seriesList } from '../export/chart-fields.ts';
import { filterSchema } from '../filters/filter.ts';
import { INTERVALS } from '../time/buckets.ts';
import { RANGES } from '../time/range.ts';
import { nameField } from './project-api.ts';

/** CONTRACT with those who manage: references, dashboards and reports, as they are stored and as they are answered. */

const TITLE_MAX = 200;
const DESCRIPTION_MAX = 2_000;

const instant = z.iso.datetime();

/** What every record of a site has. */
const ofSite = { id: z.uuid(), projectId: z.string(), createdAt: instant, updatedAt: instant };
/** Stored beside it and never answered: the site's own, see `Site` in infra/accounts/accounts.ts. */
const stored = { storedId: z.string().min(1) };

/** A record as it is answered. */
export function shownRecord<Stored extends { readonly storedId: string }>({
  storedId: _,
  ...shown
}: Stored): Omit<Stored, 'storedId'> {
  return shown;
}

/** A date that matters to a site, to be marked on charts. */
export const referenceShown = z.object({
  ...ofSite,
  title: z.string(),
  description: z.string(),
  date: instant,
});
export const referenceSchema = referenceShown.extend(stored);
export const referenceAnswer = z.object({ data: referenceShown });
export const referencesAnswer = z.object({ data: z.array(referenceShown) });

const referenceFields = {
  title: z
    .string()
    .trim()
    .min(1, 'expected a non-empty string')
    .max(TITLE_MAX, `expected at most ${TITLE_MAX} characters`),
  description: z.string().trim().max(DESCRIPTION_MAX, `expected at most ${DESCRIPTION_MAX} characters`),
  /** `2026-03-01`, which begins with the site's midnight, or a date and a time; one without a zone is the site's. */
  date: z.string().trim(),
};

/** `POST /manage/references` */
export const referenceCreation = z.strictObject({
  projectId: z.string(),
  ...referenceFields,
  description: referenceFields.description.default(''),
});

/** `PATCH /manage/references/{referenceId}` */
export const referenceChange = z.strictObject(referenceFields).partial();

/** `GET /manage/references` */
export const referencesQuery = z.object({ projectId: z.string().optional() });

/** Some reports of a site that somebody put together. */
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

/** A question that somebody keeps: how its answer is drawn, about what time, and which events are counted how. */
export const reportShown = z.object({
  ...ofSite,
  dashboardId: z.uuid(),
  name: z.string(),
  chartType: z.enum(CHART_TYPES),
  range: z.enum(RANGES),
  /** Of a custom range. */
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
  /** Arithmetic over the series, which it calls A, B, C, … in their order. */
  formula: z.string().optional(),
});
export const reportSchema = reportShown.extend(stored);
export const reportAnswer = z.object({ data: reportShown });
export const reportsAnswer = z.array(reportShown);

const reportFields = {
  name: nameField,
  chartType: z.enum(CHART_TYPES),
  range: z.enum(RANGES).optional(),
  startDate: z.string().optional(),
  endDate: z.string().optional(),
  interval: z.enum(INTERVALS),
  series: seriesList,
  breakdowns: breakdownList,
  /** Null: none. */
  formula: formulaField.nullable().optional(),
};

/** `POST …/dashboards/{dashboardId}/reports`: of the last 30 days unless it names a range or dates. */
export const reportCreation = z.strictObject({
  ...reportFields,
  chartType: reportFields.chartType.default('linear'),
  interval: reportFields.interval.default('day'),
  breakdowns: reportFields.breakdowns.default([]),
});

/** `PATCH …/dashboards/{dashboardId}/reports/{reportId}`: what is given replaces what was, lists as a whole. */
export const reportChange = z.strictObject(reportFields).partial();
export type ReportChange = z.output<typeof reportChange>;
