import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { metricsQuery } from '../api.ts';
import { anyFilters } from '../filters/testing/any-filters.ts';
import type { FilteredScene } from '../filters/testing/filtered.ts';
import { randomRecord } from '../filters/testing/scene.ts';
import { insertRecord } from '../filters/testing/stored-record.ts';
import { addFilteredTraffic, GROUPS, PROFILES } from '../filters/testing/visit-scene.ts';
import { readParameters } from '../http/parameters.ts';
import type { Sources } from '../snapshot/question.ts';
import { awayHistory, type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { type VisitEvent, Visits } from '../testing/visits.ts';
import { rangeOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import { answerMetrics } from './metrics.ts';
import { type Filters, NOW_MS, QUESTIONS } from './testing/insight-questions.ts';

const FROM_MS = NOW_MS - 72 * HOUR_MS;
const NAMES = Object.keys(QUESTIONS);
const zone = new Zones().of('UTC');
const seed = Number(process.env.SEED ?? 20_261_121);
const seeded = new SeededRandom(seed);
const visits = new Visits(2);
const records = {
  profiles: PROFILES.slice(1, 3).map((id) => randomRecord(seeded, id)),
  groups: GROUPS.slice(0, 1).map((id) => randomRecord(seeded, id)),
};

let fixture: HistoryStore;
beforeAll(async () => {
  fixture = await startHistoryStore();
  for (const table of ['profiles', 'groups'] as const) {
    for (const record of records[table]) {
      await insertRecord(fixture.store, table, record, { site: 'site', version: 1 });
    }
  }
  // Complete flushes known to the owners, with most of the traffic; flushes that landed unnoticed or did not land; and
  // open rows.
  for (let round = 0; round < 6; round += 1) {
    addFilteredTraffic(visits, seeded, { steps: round < 3 ? 250 : 40, fromMs: FROM_MS, toMs: NOW_MS });
    for (const lane of [0, 1]) {
      visits.cut(lane);
      if (round < 5 - lane) await visits.land(lane, fixture.store);
      if (round < 3) visits.complete(lane);
    }
  }
  addFilteredTraffic(visits, seeded, { steps: 40, fromMs: FROM_MS, toMs: NOW_MS });
});
afterAll(async () => {
  await fixture.stop();
});

function sourcesNow(): Sources {
  return { history: fixture.history, hot: visits.hotView() };
}

function sceneNow(): FilteredScene {
  return { ...records, events: visits.events('site'), visits: visits.visits('site') };
}

function ask(name: string, filters: unknown, sources = sourcesNow()): Promise<unknown> {
  const question = QUESTIONS[name];
  if (question === undefined) throw new Error(name);
  const text = `${question.range}&${new URLSearchParams({ filters: JSON.stringify(filters) })}`;
  return question.ask(sources, text);
}

function expected(name: string, filters: Filters): unknown {
  const question = QUESTIONS[name];
  if (question === undefined) throw new Error(name);
  const { range: rangeName } = Object.fromEntries(new URLSearchParams(question.range));
  const range = rangeOf(
    readParameters(rangeName === undefined ? '' : `range=${rangeName}`, metricsQuery),
    NOW_MS,
    zone,
  );
  if ('kind' in range) throw new Error(range.message);
  return question.expected(filters, range, sceneNow());
}

test.each(NAMES)('%s with filters equals a look at every row', async (name) => {
  const whole = expected(name, []);
  let cut = 0;
  await fc.assert(
    fc.asyncProperty(anyFilters, async (filters) => {
      const wanted = expected(name, filters);
      expect(await ask(name, filters), `seed ${seed}`).toEqual(wanted);
      if (JSON.stringify(wanted) !== JSON.stringify(whole)) cut += 1;
    }),
    { numRuns: 6, seed },
  );
  expect(cut).toBeGreaterThan(3);
});

test('filtered figures are the same whatever lands or merges between the reads', async () => {
  const names = ['metrics', 'pages', 'country', 'sessions', 'events'];
  for (let round = 0; round < 2; round += 1) {
    addFilteredTraffic(visits, seeded, { steps: 60, fromMs: FROM_MS, toMs: NOW_MS });
    for (const lane of [0, 1]) if (seeded.chance(0.7)) visits.cut(lane);
    const [filters = []] = fc.sample(anyFilters, { numRuns: 1, seed: seed + round });
    const before = names.map((name) => expected(name, filters));
    // Hot rows from before anything lands are used again afterwards.
    const hot = visits.hotView();
    const rows = await hot.rows(storedId('site'));
    const early = {
      history: fixture.history,
      hot: Object.assign(visits.hotView(), { rows: async () => rows }),
    };
    const read = (sources: Sources) => Promise.all(names.map((name) => ask(name, filters, sources)));
    expect(await read(early), `seed ${seed}`).toEqual(before);
    for (const lane of [0, 1]) {
      await visits.land(lane, fixture.store);
      expect(await read(early), `seed ${seed}`).toEqual(before);
      if (seeded.chance(0.5)) visits.complete(lane);
    }
    await fixture.store.command('OPTIMIZE TABLE sessions FINAL');
    expect(await read(early), `seed ${seed}`).toEqual(before);
    expect(await read(sourcesNow()), `seed ${seed}`).toEqual(before);
  }
});

test.each(NAMES)('%s rejects invalid filters, and answers filters at their limits', async (name) => {
  const rejected = async (filters: unknown, message: RegExp) => {
    const answer = (async () => ask(name, filters))();
    await expect(answer).rejects.toMatchObject({ status: 400, message: expect.stringMatching(message) });
  };
  const many = [
    "') OR 1 --",
    '{from:Int64}',
    '$HOT_EVENTS$',
    ...Array.from({ length: 497 }, (_, at) => `x${at}`),
  ];
  await rejected([{ name: 'colour', operator: 'is', value: ['red'] }], /^filters\.0\.name: /);
  await rejected([{ name: 'path', operator: 'is', value: [...many, ...many, 'y'] }], /^filters\.0\.value: /);
  const limits = ['country', 'path'].map((column) => ({
    name: column,
    operator: 'doesNotContain',
    value: many,
  }));
  const amounts = Array.from({ length: 48 }, () => ({ name: 'revenue', operator: 'lt', value: [15] }));
  expect(await ask(name, [...limits, ...amounts])).toEqual(
    expected(name, [...limits, ...amounts.slice(0, 1)]),
  );
  for (const column of ['country', 'path']) {
    const pattern = { name: column, operator: 'regex', value: ['(a{1000}){1000}'] };
    await rejected([pattern], /^filters: a regular expression cannot be read$/);
  }
});

test('filters match a session by its entry, each event by itself, and an event without a session by its own columns', async () => {
  // A lane without a flush in the store.
  const own = new Visits(3);
  const event = (columns: Partial<VisitEvent>, country: string): VisitEvent => ({
    id: '',
    sessionId: '',
    projectId: 'own',
    deviceId: 'd',
    profileId: '',
    name: 'screen_view',
    atMs: NOW_MS - 60_000,
    origin: '',
    path: '/',
    title: '',
    revenue: 0n,
    currency: '',
    ...columns,
    columns: { country },
  });
  const visit = (id: string, country: string, startedAtMs: number) => ({
    id,
    projectId: 'own',
    deviceId: id,
    profileId: '',
    startedAtMs,
    endedAtMs: NOW_MS,
    touchedAtMs: NOW_MS,
    screenViews: 2,
    revenue: new Map<string, bigint>(),
    texts: { country },
  });
  // Entered from DE; its second event says FR.
  own.put(2, visit('a', 'DE', NOW_MS - 60_000));
  own.add(2, event({ id: '1', sessionId: 'a', deviceId: 'a' }, 'DE'));
  own.add(2, event({ id: '2', sessionId: 'a', deviceId: 'a', path: '/buy' }, 'FR'));
  own.put(2, visit('b', 'FR', NOW_MS - 60_000));
  own.add(2, event({ id: '3', sessionId: 'b', deviceId: 'b', path: '/buy' }, 'DE'));
  // Began long before the range, and has an event in it.
  own.put(2, visit('c', 'DE', NOW_MS - 30 * HOUR_MS));
  own.add(2, event({ id: '4', sessionId: 'c', deviceId: 'c', path: '/buy' }, ''));
  own.add(2, event({ id: '5', deviceId: 'e', path: '/buy' }, 'DE'));
  // Its only event at /buy is synthetic.
  own.put(2, visit('f', 'DE', NOW_MS - 60_000));
  own.add(2, event({ id: '6', sessionId: 'f', deviceId: 'f', name: 'session_end', path: '/buy' }, 'DE'));
  const scope = { site: modelSite('own'), zone, nowMs: NOW_MS };
  const filters = [
    { name: 'country', operator: 'is', value: ['DE'] },
    { name: 'path', operator: 'is', value: ['/buy'] },
  ];
  const query = new URLSearchParams({ range: 'lastHour', filters: JSON.stringify(filters) }).toString();
  const sources = { history: fixture.history, hot: own.hotView() };
  const { metrics } = await answerMetrics(sources, scope, readParameters(query, metricsQuery));
  expect(metrics).toMatchObject({ total_screen_views: 3, unique_visitors: 3, total_sessions: 1 });
});

test.each(['range=30min', 'range=lastHour&partial=true'])(
  'memory cannot be filtered: without the store metrics?%s is rejected',
  async (range) => {
    const history = awayHistory();
    const scope = { site: modelSite('site'), zone, nowMs: NOW_MS };
    const query = (filters: string) => readParameters(`${range}&filters=${filters}`, metricsQuery);
    const sources = { history, hot: visits.hotView() };
    const answer = answerMetrics(sources, scope, query('[{"name":"path","operator":"is","value":["/"]}]'));
    await expect(answer).rejects.toMatchObject({ status: 503, reason: 'store-away' });
  },
);
