import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { encodeJson, Mirror } from '../../infra/bus/mirror.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { answerCharts } from '../export/charts.ts';
import { chartsQuery } from '../export/charts-api.ts';
import { readParameters } from '../http/parameters.ts';
import { answerFunnel } from '../paths/funnel.ts';
import { funnelQuery } from '../paths/funnel-api.ts';
import { answerCohorts } from '../paths/retention-cohort.ts';
import { cohortQuery } from '../paths/retention-cohort-api.ts';
import { answerUserFlow } from '../paths/user-flow.ts';
import { userFlowQuery } from '../paths/user-flow-api.ts';
import { FLUSHES, FlushedEvents } from '../testing/flushed-events.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { Zones } from '../time/zone.ts';
import { reportDataAnswer, reportSchema, SERIES_TYPES } from './report-api.ts';
import { reportDataInsight } from './reports.ts';

const NOW_MS = Date.parse('2026-10-25T20:34:56.789Z');
const DASHBOARD = '00000000-0000-4000-8000-0000000000d0';
const REPORT = '00000000-0000-4000-8000-0000000000e0';
const scope = {
  site: modelSite('site', 'Europe/Berlin'),
  zone: new Zones().of('Europe/Berlin'),
  nowMs: NOW_MS,
};

let fixture: HistoryStore;
const model = new FlushedEvents(new SeededRandom(8), {
  events: 500,
  fromMs: NOW_MS - 20 * DAY_MS,
  toMs: NOW_MS,
});
beforeAll(async () => {
  fixture = await startHistoryStore();
  for (let flush = 1; flush < FLUSHES; flush += 1) await model.land(fixture.store, flush);
});
afterAll(async () => {
  await fixture.stop();
});

/** Sources in which the newest flush is hot. */
const sources = () => ({ history: fixture.history, hot: model.hotView(FLUSHES - 1) });

/** Returns the answer for a stored report with this definition. */
async function shownBy(definition: object) {
  const reports = new Mirror('report.', reportSchema);
  const dashboards = new Mirror('dashboard.', z.object({ name: z.string() }));
  const stored = {
    ...{
      id: REPORT,
      dashboardId: DASHBOARD,
      projectId: 'site',
      storedId: scope.site.storedId,
      name: 'A report',
    },
    ...{ range: '30d', interval: 'day', series: [], breakdowns: [] },
    ...{ createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' },
    ...definition,
  };
  reports.take({ key: `report.${REPORT}`, bytes: encodeJson(stored), revision: 1 });
  dashboards.take({ key: `dashboard.${DASHBOARD}`, bytes: encodeJson({ name: 'Growth' }), revision: 1 });
  const { answer } = reportDataInsight({ ...sources(), saved: { reports, dashboards } });
  const shown = await answer(scope, { partial: false }, { reportId: REPORT.toUpperCase() });
  expect(reportDataAnswer.parse(shown)).toEqual(shown);
  const { storedId: _, ...report } = stored;
  expect(shown.report).toEqual(report);
  return shown;
}

function textOf(parameters: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(parameters).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return String(new URLSearchParams(texts));
}

const filters = [{ name: 'path', operator: 'contains', value: ['1'] }];

test.each([
  [{ series: [{ name: '*', segment: 'user' }] }],
  [
    {
      series: [
        { name: 'screen_view', segment: 'event', filters },
        { name: 'sign up', segment: 'session' },
      ],
      breakdowns: [{ name: 'properties.plan' }],
      formula: 'B / A * 100',
    },
  ],
  [
    {
      series: [{ name: '*', segment: 'property_sum', property: 'revenue', currency: 'USD' }],
      range: 'custom',
      startDate: '2026-10-10',
      endDate: '2026-10-24',
      interval: 'week',
    },
  ],
])('every type of series shows the chart of the same definition: %o', async (definition) => {
  const asked = textOf({ projectId: 'site', range: '30d', interval: 'day', ...definition });
  const chart = await answerCharts(sources(), scope, readParameters(asked, chartsQuery));
  expect(chart.series.length).toBeGreaterThan(0);
  for (const chartType of SERIES_TYPES) {
    const { data, ...shown } = await shownBy({ chartType, ...definition });
    expect(shown.chartType).toBe(chartType);
    expect(data).toEqual({ ...chart, references: [] });
  }
});

test('a funnel shows the funnel of its series', async () => {
  const series = [
    { name: 'screen_view', segment: 'event' },
    { name: 'click', segment: 'event', filters },
  ];
  const options = {
    windowHours: 400,
    groupBy: 'profile_id',
    filters,
  };
  const breakdowns = [{ name: 'properties.plan' }];
  const asked = {
    ...{ steps: ['screen_view', { name: 'click', filters }], windowHours: '400', groupBy: 'profile_id' },
    ...{ breakdown: 'properties.plan', filters: options.filters, range: '30d' },
  };
  const funnel = await answerFunnel(sources(), scope, readParameters(textOf(asked), funnelQuery));
  expect(funnel.completedUsers).toBeGreaterThan(0);
  // Without the filters the numbers are others, so a report that drops them does not pass.
  const unfiltered = readParameters(textOf({ ...asked, filters: [] }), funnelQuery);
  expect((await answerFunnel(sources(), scope, unfiltered)).steps).not.toEqual(funnel.steps);
  expect(await shownBy({ chartType: 'funnel', series, breakdowns, options })).toMatchObject({
    chartType: 'funnel',
    data: funnel,
  });
});

test('retention shows the cohorts of its interval, with its events as options or as series', async () => {
  const asked = textOf({
    range: '30d',
    interval: 'week',
    firstEvent: 'screen_view',
    event: 'click',
    filters,
  });
  const cohorts = await answerCohorts(sources(), scope, readParameters(asked, cohortQuery));
  expect(cohorts.some(({ values }) => values.slice(1).some((value) => value > 0))).toBe(true);
  const report = { chartType: 'retention', interval: 'week' };
  const events = { firstEvent: 'screen_view', event: 'click' };
  const byOptions = await shownBy({ ...report, options: { ...events, filters } });
  expect(byOptions).toMatchObject({ chartType: 'retention', data: cohorts });
  const series = Object.values(events).map((name) => ({ name, segment: 'event' }));
  expect((await shownBy({ ...report, series, options: { filters } })).data).toEqual(cohorts);
  const ofAll = await answerCohorts(sources(), scope, readParameters('range=30d&interval=week', cohortQuery));
  expect((await shownBy({ ...report, series: [{ name: '*', segment: 'event' }] })).data).toEqual(ofAll);
});

test('a sankey shows the flow of its options', async () => {
  const options = { by: 'events', start: 'click', direction: 'backward', depth: 2, limit: 3 };
  const asked = textOf({ ...options, range: '30d', filters });
  const flow = await answerUserFlow(sources(), scope, readParameters(asked, userFlowQuery));
  expect(flow.sessions).toBeGreaterThan(0);
  expect(await shownBy({ chartType: 'sankey', options: { ...options, filters } })).toMatchObject({
    chartType: 'sankey',
    data: flow,
  });
});
