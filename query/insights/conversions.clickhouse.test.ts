import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { metricsQuery } from '../api.ts';
import type { GoalRecord } from '../definitions/definition-records.ts';
import { anyFilters } from '../filters/testing/any-filters.ts';
import { type FilteredScene, heldEvents, heldVisits } from '../filters/testing/filtered.ts';
import { addFilteredTraffic } from '../filters/testing/visit-scene.ts';
import { readParameters } from '../http/parameters.ts';
import type { QuestionScope, Sources } from '../snapshot/question.ts';
import { requestedRange } from '../snapshot/question.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { type ModelVisit, type VisitEvent, Visits } from '../testing/visits.ts';
import type { Span } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import { answerBreakdown } from './breakdown.ts';
import { listQuery } from './breakdown-api.ts';
import { answerGoals } from './goals.ts';
import { goalFiguresAnswer, goalsQuery } from './goals-api.ts';
import { answerMetrics } from './metrics.ts';
import { answerEntryExit, answerPages } from './pages.ts';
import { entryExitQuery } from './pages-api.ts';
import { type Filters, NOW_MS } from './testing/insight-questions.ts';

const seed = Number(process.env.SEED ?? 20_261_125);
const seeded = new SeededRandom(seed);
const visits = new Visits(2);
const zone = new Zones().of('UTC');

const GOALS = [
  goal('1', { name: 'Click', type: 'event', event: 'click', value: 2.5 }),
  goal('2', { name: 'Buy', type: 'page', path: '/b*y' }),
  goal('3', { name: 'Any page', type: 'page', path: '*' }),
  goal('4', {
    name: 'German click',
    type: 'event',
    event: 'click',
    filters: [
      { name: 'country', operator: 'is', value: ['one', 'One'] },
      { name: 'path', operator: 'isNot', value: ['/a'] },
    ],
    value: 0.335,
  }),
  goal('5', { name: 'Never', type: 'page', path: '/nowhere' }),
];

/** Enough for more than one statement. Every third pattern is a regular expression. */
const MANY = Array.from({ length: 43 }, (_, index) =>
  goal(`${index + 10}`, {
    ...{ name: `Page ${index}`, type: 'page', value: index },
    path: must(['/buy', '/a*', '*/?', '/', '*y', '/a*.'][index % 6], 'a path'),
  }),
);

/** Names that would change a statement if they were part of its text. */
const INJECTED = ["') OR 1 --", '$HOT_EVENTS$ {from:Int64} $SESSION_GOALS$'].map((event, index) =>
  goal(`${index + 90}`, { name: `Injected ${index}`, type: 'event', event }),
);

function goal(digit: string, given: Partial<GoalRecord>): GoalRecord {
  const id = `00000000-0000-4000-8000-${digit.padStart(12, '0')}`;
  const at = new Date(NOW_MS).toISOString();
  const made = { id, projectId: storedId('site'), storedId: storedId('site'), createdAt: at, updatedAt: at };
  return { ...made, name: id, type: 'event', event: null, path: null, filters: [], value: null, ...given };
}

const scope: QuestionScope = {
  site: modelSite('site'),
  zone,
  nowMs: NOW_MS,
  definitions: { segments: [], goals: GOALS, references: [] },
};

let fixture: HistoryStore;
beforeAll(async () => {
  fixture = await startHistoryStore();
  // Complete flushes, one that landed unnoticed, one that did not land, and open rows.
  for (let round = 0; round < 4; round += 1) {
    grow(round < 2 ? 250 : 60);
    for (const lane of [0, 1]) {
      visits.cut(lane);
      if (round < 3) await visits.land(lane, fixture.store);
      if (round < 2) visits.complete(lane);
    }
  }
  grow(60);
});
afterAll(async () => {
  await fixture.stop();
});

function grow(steps: number): void {
  addFilteredTraffic(visits, seeded, { steps, fromMs: NOW_MS - 60 * HOUR_MS, toMs: NOW_MS });
}

function sourcesNow(): Sources {
  return { history: fixture.history, hot: visits.hotView() };
}

function sceneNow(): FilteredScene {
  return { profiles: [], groups: [], events: visits.events('site'), visits: visits.visits('site') };
}

const isIn = ({ fromMs, toMs }: Span, atMs: number) => atMs >= fromMs && atMs < toMs;

/** The filters of a goal, as a request spells them. */
function filtersOf({ type, event, path, filters }: GoalRecord): Filters {
  const pattern = (path ?? '').replace(/[?.]/g, '[$&]').replaceAll('*', '.*');
  const own =
    type === 'event'
      ? [{ name: 'name', operator: 'is', value: [event] }]
      : [
          { name: 'name', operator: 'is', value: ['screen_view'] },
          { name: 'path', operator: 'regex', value: [`^${pattern}$`] },
        ];
  return [...own, ...filters] as unknown as Filters;
}

/** The ids of the sessions with an event of the goal in a span. Examines every event. */
function reaching(record: GoalRecord, span: Span, scene: FilteredScene): ReadonlySet<string> {
  const found = heldEvents(filtersOf(record), scene).filter(
    ({ atMs, name }) => isIn(span, atMs) && !name.startsWith('session_'),
  );
  return new Set(found.map(({ sessionId }) => sessionId).filter((id) => id !== ''));
}

function figuresOf(record: GoalRecord, all: readonly ModelVisit[], converted: ReadonlySet<string>) {
  const own = all.filter(({ id }) => converted.has(id));
  return shown(record, all.length, own);
}

function shown(record: GoalRecord, sessions: number, own: readonly ModelVisit[]) {
  const visitors = own.map(({ profileId, deviceId }) => profileId || deviceId).filter((one) => one !== '');
  return {
    conversions: own.length,
    converted_visitors: new Set(visitors).size,
    conversion_rate: sessions === 0 ? 0 : Math.round((own.length / sessions) * 10_000) / 100,
    conversion_value: Math.round((record.value ?? 0) * own.length * 100) / 100,
  };
}

const CONVERSION_FIELDS = ['conversions', 'converted_visitors', 'conversion_rate', 'conversion_value'];

/** The part of an object about conversions, and the rest. */
function split(row: object) {
  const fields = Object.entries(row);
  const isOfGoal = ([name]: readonly [string, unknown]) => CONVERSION_FIELDS.includes(name);
  return {
    converted: Object.fromEntries(fields.filter(isOfGoal)),
    rest: Object.fromEntries(fields.filter((field) => !isOfGoal(field))),
  };
}

interface Asked {
  readonly filters: Filters;
  readonly goal?: string;
  readonly range?: string;
}

function textOf({ filters, goal: name, range = 'range=last24h' }: Asked): string {
  const asked = { filters: JSON.stringify(filters), ...(name === undefined ? {} : { goal: name }) };
  return `${range}&${new URLSearchParams(asked)}`;
}

const ROWS: Readonly<
  Record<
    string,
    {
      readonly ask: (sources: Sources, text: string) => Promise<readonly object[]>;
      readonly keyOf: (visit: ModelVisit) => readonly string[];
      readonly nameOf: (row: Readonly<Record<string, unknown>>) => readonly unknown[];
    }
  >
> = {
  country: {
    ask: (sources, text) => answerBreakdown(sources, scope, readParameters(text, listQuery), 'country'),
    keyOf: ({ texts }) => [texts.country ?? ''],
    nameOf: ({ name }) => [name ?? ''],
  },
  browser_version: {
    ask: (sources, text) =>
      answerBreakdown(sources, scope, readParameters(text, listQuery), 'browser_version'),
    keyOf: ({ texts }) => [texts.browser ?? '', texts.browserVersion ?? ''],
    nameOf: ({ name, prefix }) => [prefix ?? '', name ?? ''],
  },
  'pages/entry_exit': {
    ask: (sources, text) =>
      answerEntryExit(sources, scope, readParameters(`${text}&mode=exit`, entryExitQuery)),
    keyOf: ({ texts }) => [texts.exitOrigin ?? '', texts.exitPath ?? ''],
    nameOf: ({ origin, path }) => [origin, path],
  },
};

/** Half of the questions have no filters: random ones often leave few events. */
const someFilters = fc.oneof(fc.constant([]), anyFilters);
const anyGoal = fc.constantFrom(...GOALS);
const anyRange = fc.constantFrom('range=last24h', 'range=yesterday', 'range=7d');

test.each(Object.keys(ROWS))(
  '%s with a goal has the same rows, each with the conversions that a look at every session finds',
  async (name) => {
    const { ask, keyOf, nameOf } = must(ROWS[name], name);
    let converted = 0;
    await fc.assert(
      fc.asyncProperty(someFilters, anyGoal, anyRange, async (filters, record, range) => {
        const scene = sceneNow();
        const { span } = requestedRange(readParameters(range, metricsQuery), scope);
        const begun = heldVisits(filters, scene, span);
        const reached = reaching(record, span, scene);
        const page = `${range}&limit=4&cursor=1`;
        const plain = await ask(sourcesNow(), textOf({ filters, range: page }));
        const rows = await ask(sourcesNow(), textOf({ filters, goal: record.name, range: page }));
        expect(rows.map((row) => split(row).rest)).toEqual(plain);
        const wanted = rows.map((row) => {
          const key = JSON.stringify(nameOf(row as Record<string, unknown>));
          return figuresOf(
            record,
            begun.filter((visit) => JSON.stringify(keyOf(visit)) === key),
            reached,
          );
        });
        expect(rows.map((row) => split(row).converted)).toEqual(wanted);
        converted += wanted.filter(({ conversions }) => conversions > 0).length;
      }),
      { numRuns: 5, seed },
    );
    expect(converted).toBeGreaterThan(5);
  },
);

test('pages with a goal count the sessions that viewed the page and reached the goal in the range', async () => {
  let converted = 0;
  await fc.assert(
    fc.asyncProperty(someFilters, anyGoal, anyRange, async (filters, record, range) => {
      const scene = sceneNow();
      const { span } = requestedRange(readParameters(range, metricsQuery), scope);
      const reached = reaching(record, span, scene);
      const views = heldEvents(filters, scene).filter(
        ({ name, atMs }) => name === 'screen_view' && isIn(span, atMs),
      );
      const asked = { filters, range: `${range}&limit=3` };
      const ask = (more: object) =>
        answerPages(sourcesNow(), scope, readParameters(textOf({ ...asked, ...more }), listQuery));
      const rows = await ask({ goal: record.id });
      expect(rows.map((row) => split(row).rest)).toEqual(await ask({}));
      for (const row of rows) {
        const ids = views
          .filter(({ path, origin }) => path === row.path && origin === row.origin)
          .map(({ sessionId }) => sessionId);
        const own = scene.visits.filter(({ id }) => ids.includes(id) && reached.has(id));
        // The visitors of the views, as in every figure of events.
        const { converted_visitors: _, ...figures } = shown(record, row.sessions, own);
        expect(row).toMatchObject(figures);
        const visitors = views.filter(
          (view) =>
            own.some(({ id }) => id === view.sessionId) && view.path === row.path && view.visitor !== '',
        );
        expect(row.converted_visitors).toBe(new Set(visitors.map(({ visitor }) => visitor)).size);
        converted += own.length;
      }
    }),
    { numRuns: 5, seed },
  );
  expect(converted).toBeGreaterThan(10);
});

test('metrics with a goal have conversions in the range, in the one before, and in each bucket', async () => {
  let converted = 0;
  await fc.assert(
    fc.asyncProperty(someFilters, anyGoal, async (filters, record) => {
      const scene = sceneNow();
      const range = requestedRange(readParameters('range=last24h', metricsQuery), scope);
      const ask = (more: object) =>
        answerMetrics(sourcesNow(), scope, readParameters(textOf({ filters, ...more }), metricsQuery));
      const answer = await ask({ goal: record.name });
      const plain = await ask({});
      const figures = (span: Span, within: Span) =>
        figuresOf(
          record,
          heldVisits(filters, scene, within).filter(({ startedAtMs }) => isIn(span, startedAtMs)),
          reaching(record, within, scene),
        );
      const current = figures(range.span, range.span);
      expect(answer).toEqual({
        ...plain,
        metrics: { ...plain.metrics, ...current },
        previous: { ...plain.previous, ...figures(range.previous, range.previous) },
        series: plain.series.map((bucket, index) => {
          const fromMs = must(range.buckets[index], 'bucket').fromMs;
          const toMs = range.buckets[index + 1]?.fromMs ?? range.span.toMs;
          return { ...bucket, ...figures({ fromMs, toMs }, range.span) };
        }),
      });
      converted += current.conversions;
    }),
    { numRuns: 5, seed },
  );
  expect(converted).toBeGreaterThan(10);
});

test('fifty goals are answered, most conversions first, the same whatever lands between the reads', async () => {
  for (let round = 0; round < 2; round += 1) {
    grow(40);
    const [filters = []] = fc.sample(anyFilters, { numRuns: 1, seed: seed + round });
    const scene = sceneNow();
    const { span } = requestedRange(readParameters('range=7d', metricsQuery), scope);
    const begun = heldVisits(filters, scene, span);
    const wanted = [...GOALS, ...MANY, ...INJECTED]
      .map((record) => ({
        ...{ id: record.id, name: record.name, type: record.type },
        ...figuresOf(record, begun, reaching(record, span, scene)),
      }))
      .sort((a, b) => b.conversions - a.conversions || (a.name < b.name ? -1 : 1));
    const all = { segments: [], goals: [...GOALS, ...MANY, ...INJECTED], references: [] };
    const rows = await visits.hotView().rows(storedId('site'));
    const early = {
      history: fixture.history,
      hot: Object.assign(visits.hotView(), { rows: async () => rows }),
    };
    const ask = (sources: Sources) =>
      answerGoals(
        sources,
        { ...scope, definitions: all },
        readParameters(textOf({ filters, range: 'range=7d' }), goalsQuery),
      );
    expect(goalFiguresAnswer.parse(await ask(early))).toEqual(wanted);
    for (const lane of [0, 1]) {
      visits.cut(lane);
      await visits.land(lane, fixture.store);
      expect(await ask(early), `seed ${seed}`).toEqual(wanted);
      visits.complete(lane);
    }
    expect(await ask(sourcesNow()), `seed ${seed}`).toEqual(wanted);
  }
});

test('a session converts once, with an event of the goal that need not match the filters, and only within the range', async () => {
  // A lane without a flush in the store.
  const own = new Visits(3);
  const event = (id: string, sessionId: string, columns: Partial<VisitEvent>): VisitEvent => ({
    id,
    sessionId,
    projectId: storedId('own'),
    deviceId: sessionId,
    profileId: '',
    name: 'screen_view',
    atMs: NOW_MS - 60_000,
    origin: '',
    path: '/',
    title: '',
    revenue: 0n,
    currency: '',
    columns: {},
    ...columns,
  });
  const visit = (id: string, startedAtMs: number) => ({
    id,
    projectId: storedId('own'),
    deviceId: id,
    profileId: '',
    startedAtMs,
    endedAtMs: NOW_MS,
    touchedAtMs: NOW_MS,
    screenViews: 1,
    revenue: new Map<string, bigint>(),
    texts: { country: 'DE' },
  });
  const click = { name: 'click', path: '/end' };
  // Viewed /pricing, then clicked twice elsewhere.
  own.put(2, visit('a', NOW_MS - 60_000));
  own.add(2, event('1', 'a', { path: '/pricing' }));
  own.add(2, event('2', 'a', click));
  own.add(2, event('3', 'a', click));
  // Clicked, and never viewed /pricing.
  own.put(2, visit('b', NOW_MS - 60_000));
  own.add(2, event('4', 'b', click));
  // Viewed /pricing and did not click.
  own.put(2, visit('c', NOW_MS - 60_000));
  own.add(2, event('5', 'c', { path: '/pricing' }));
  // Began before the range, and did both in it.
  own.put(2, visit('d', NOW_MS - 30 * HOUR_MS));
  own.add(2, event('6', 'd', { path: '/pricing' }));
  own.add(2, event('7', 'd', click));
  // A click of no session.
  own.add(2, event('8', '', { ...click, deviceId: 'e' }));
  const sources = { history: fixture.history, hot: own.hotView() };
  const ofOwn = { ...scope, site: modelSite('own') };
  const filters = [{ name: 'path', operator: 'is', value: ['/pricing'] }] as unknown as Filters;
  const text = (more: object) => textOf({ filters, goal: 'Click', range: 'range=lastHour', ...more });
  const { metrics } = await answerMetrics(sources, ofOwn, readParameters(text({}), metricsQuery));
  expect(metrics).toMatchObject({
    ...{ total_sessions: 2, conversions: 1, converted_visitors: 1 },
    ...{ conversion_rate: 50, conversion_value: 2.5 },
  });
  const all = await answerMetrics(sources, ofOwn, readParameters(text({ filters: [] }), metricsQuery));
  expect(all.metrics).toMatchObject({ total_sessions: 3, conversions: 2, conversion_rate: 66.67 });
  const [page] = await answerPages(sources, ofOwn, readParameters(text({}), listQuery));
  expect(page).toMatchObject({ path: '/pricing', sessions: 3, conversions: 2, conversion_value: 5 });
  const goals = await answerGoals(sources, ofOwn, readParameters(text({ goal: undefined }), goalsQuery));
  expect(goals.map(({ conversions }) => conversions)).toEqual([2, 1, 0, 0, 0]);
});

test('a goal that the site does not have is rejected, by every question that takes one', async () => {
  const text = textOf({ filters: [], goal: 'click' });
  const rejection = { status: 400, message: 'goal: no such goal: "click"' };
  const questions = [
    () => answerMetrics(sourcesNow(), scope, readParameters(text, metricsQuery)),
    () => answerPages(sourcesNow(), scope, readParameters(text, listQuery)),
    ...Object.values(ROWS).map(
      ({ ask }) =>
        () =>
          ask(sourcesNow(), text),
    ),
  ];
  for (const question of questions) await expect(question()).rejects.toMatchObject(rejection);
});
