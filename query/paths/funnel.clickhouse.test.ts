import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { type SeenEvent, type VisitEvent, Visits } from '../testing/visits.ts';
import { Zones } from '../time/zone.ts';
import { answerFunnel, FUNNEL_LIMITS } from './funnel.ts';
import { type FunnelAnswer, funnelAnswer, funnelQuery } from './funnel-api.ts';
import { addJourneys, addSteps, landSome, sceneOf } from './testing/journeys.ts';
import { type AskedFunnel, slowFunnel } from './testing/slow-funnel.ts';

const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
const SPAN = { fromMs: NOW_MS - 40 * HOUR_MS, toMs: NOW_MS - 2 * HOUR_MS };
const zone = new Zones().of('UTC');
const seed = Number(process.env.SEED ?? 20_261_125);

let fixture: HistoryStore;
beforeAll(async () => {
  fixture = await startHistoryStore();
});
afterAll(async () => {
  await fixture.stop();
});

const TRAFFIC = {
  events: 220,
  sessions: 40,
  visitors: 25,
  fromMs: SPAN.fromMs - 2 * HOUR_MS,
  toMs: SPAN.toMs + HOUR_MS,
};

/** A breakdown, and its value of an event. */
const BREAKDOWNS: readonly (readonly [string, (event: SeenEvent) => string])[] = [
  ['country', ({ columns }) => String(columns?.country)],
  ['path', ({ path }) => path],
  ['properties.plan', ({ columns }) => (Array.isArray(columns?.properties) ? columns.properties[1] : '')],
  ['id', ({ id }) => id.padStart(32, '0')],
];

interface Question extends Omit<AskedFunnel, 'readValue'> {
  readonly breakdown: (typeof BREAKDOWNS)[number] | undefined;
  readonly between: boolean;
}

const country = fc.record({
  name: fc.constant('country'),
  operator: fc.constantFrom('is', 'isNot'),
  value: fc.constantFrom(['DE'], ["O'K", '']),
});
const path = fc.record({
  name: fc.constant('path'),
  operator: fc.constantFrom('is', 'isNot', 'startsWith'),
  value: fc.constantFrom(['/'], ['/a', "/it's"]),
});
const bounce = fc.constant({ name: 'isBounce', operator: 'is', value: ['true'] });
const anyFilters = fc.array(fc.oneof(country, path, bounce), { maxLength: 2 });
const anyName = fc.constantFrom('screen_view', 'cart', 'sign up', 'buy', '*', 'session_start', 'session_end');
const anyStep = fc.oneof(anyName, fc.record({ name: anyName, filters: anyFilters }));
const anyQuestion: fc.Arbitrary<Question> = fc.record({
  steps: fc.array(anyStep, { minLength: 2, maxLength: 4 }),
  windowHours: fc.constantFrom(1, 2, 24),
  groupBy: fc.constantFrom('session_id', 'profile_id'),
  filters: fc.oneof(fc.constant([]), anyFilters),
  breakdown: fc.option(fc.constantFrom(...BREAKDOWNS), { nil: undefined }),
  between: fc.boolean(),
});

function ask(asked: Question, visits: Visits, site = 'site', limits = FUNNEL_LIMITS): Promise<FunnelAnswer> {
  const text = new URLSearchParams({
    steps: JSON.stringify(asked.steps),
    windowHours: String(asked.windowHours),
    groupBy: asked.groupBy,
    filters: JSON.stringify(asked.filters),
    between: String(asked.between),
    startDate: new Date(SPAN.fromMs).toISOString(),
    endDate: new Date(SPAN.toMs).toISOString(),
    ...(asked.breakdown === undefined ? {} : { breakdown: asked.breakdown[0] }),
  });
  const scope = { site: modelSite(site), zone, nowMs: NOW_MS };
  const sources = { history: fixture.history, hot: visits.hotView() };
  return answerFunnel(sources, scope, readParameters(String(text), funnelQuery), limits);
}

function expected({ breakdown, between, ...asked }: Question, visits: Visits): FunnelAnswer {
  const answer = slowFunnel({ ...asked, readValue: breakdown?.[1] }, sceneOf(visits), SPAN);
  if (between) return answer;
  const steps = answer.steps.map(({ between: found, ...step }) => {
    if (found === undefined) return step;
    const { events, ...times } = found;
    return { ...step, between: times };
  });
  return { ...answer, steps };
}

test('a funnel equals trying every way through the events of each user, hot, stored, and split by flushes', async () => {
  const visits = new Visits(2);
  const seeded = new SeededRandom(seed);
  const found = { finished: 0, between: 0, values: 0 };
  for (let round = 0; round < 4; round += 1) {
    addJourneys(visits, seeded, TRAFFIC);
    // All hot; stored, unknown to the owners; known; and with further hot rows.
    if (round > 0) await landSome(visits, fixture);
    if (round === 2) for (const lane of [0, 1]) visits.complete(lane);
    await fc.assert(
      fc.asyncProperty(anyQuestion, async (asked) => {
        const wanted = expected(asked, visits);
        // First with ids only for users whose order depends on them; then for everyone, because these users are too
        // many.
        for (const unsureMax of [FUNNEL_LIMITS.unsureMax, 2])
          expect(await ask(asked, visits, 'site', { ...FUNNEL_LIMITS, unsureMax }), `seed ${seed}`).toEqual(
            wanted,
          );
        if (wanted.completedUsers > 0) found.finished += 1;
        if (wanted.steps.some(({ between }) => (between?.events?.length ?? 0) > 0)) found.between += 1;
        if ((wanted.breakdownValues ?? 0) > 2) found.values += 1;
      }),
      { numRuns: 10, seed: seed + round },
    );
  }
  expect(Math.min(...Object.values(found))).toBeGreaterThan(3);
});

const DEFAULTS: Question = {
  steps: ['view', 'cart', 'buy'],
  windowHours: 1,
  groupBy: 'session_id',
  filters: [],
  breakdown: undefined,
  between: false,
};
const T0 = SPAN.fromMs + HOUR_MS;

/** The users of each step, for a site with only these events. */
async function usersOf(events: readonly Partial<VisitEvent>[], asked: Partial<Question> = {}) {
  const own = new Visits(4);
  addSteps(own, 3, events);
  const answer = await ask({ ...DEFAULTS, ...asked }, own, 'own');
  expect(funnelAnswer.parse(answer)).toEqual(answer);
  return answer.steps.map(({ users }) => users);
}

test('steps count in their order, and the end of the window is included', async () => {
  const at = (name: string, atMs: number, sessionId = '1') => ({ name, atMs: T0 + atMs, sessionId });
  expect(await usersOf([at('cart', 0), at('view', 1), at('buy', 2)])).toEqual([1, 0, 0]);
  expect(await usersOf([at('view', 0), at('cart', 1), at('buy', HOUR_MS)])).toEqual([1, 1, 1]);
  expect(await usersOf([at('view', 0), at('cart', 1), at('buy', HOUR_MS + 1)])).toEqual([1, 1, 0]);
  // A later start reaches further than the first one.
  expect(
    await usersOf([at('view', 0), at('cart', 1), at('view', 2), at('cart', 3), at('buy', HOUR_MS + 2)]),
  ).toEqual([1, 1, 1]);
  // Steps of another session are no steps of this one.
  expect(await usersOf([at('view', 0), at('cart', 1, '2'), at('view', 0, '2')])).toEqual([2, 1, 0]);
});

test('one event is never two steps, and events of one millisecond are in the order of their ids', async () => {
  const at = (id: string, name: string) => ({ id, name, atMs: T0, sessionId: '1' });
  const asked = { steps: ['view', 'view', '*'] };
  expect(await usersOf([at('1', 'view')], asked)).toEqual([1, 0, 0]);
  expect(await usersOf([at('1', 'view'), at('2', 'view')], asked)).toEqual([1, 1, 0]);
  expect(await usersOf([at('1', 'view'), at('2', 'view'), at('3', 'x')], asked)).toEqual([1, 1, 1]);
  expect(await usersOf([at('1', 'view'), at('2', 'view'), at('3', 'session_end')], asked)).toEqual([1, 1, 0]);
  expect(await usersOf([at('1', 'view'), at('2', 'cart'), at('3', 'buy')])).toEqual([1, 1, 1]);
  expect(await usersOf([at('2', 'view'), at('1', 'cart'), at('3', 'buy')])).toEqual([1, 0, 0]);
  const first = '1'.padEnd(32, '0');
  const second = `${first.slice(0, 31)}1`;
  expect(await usersOf([at(second, 'cart'), at(first, 'view')])).toEqual([1, 1, 0]);
  expect(await usersOf([at(first, 'cart'), at(second, 'view')])).toEqual([1, 0, 0]);
  // The first byte decides.
  const [low, high] = [`00${'f'.repeat(30)}`, `01${'0'.repeat(30)}`];
  expect(await usersOf([at(high, 'cart'), at(low, 'view')])).toEqual([1, 1, 0]);
});

test('stored events of one millisecond are in the order of their ids, too', async () => {
  const own = new Visits(4);
  const atMs = T0 + 3 * HOUR_MS;
  const [early, late] = ['1'.padEnd(32, '0'), '2'.padEnd(32, '0')];
  const tied = (sessionId: string, first: string, second: string) => [
    { id: `${sessionId}${first.slice(1)}`, name: 'view', atMs, sessionId },
    { id: `${sessionId}${second.slice(1)}`, name: 'cart', atMs, sessionId },
    { name: 'buy', atMs: atMs + HOUR_MS, sessionId },
  ];
  addSteps(own, 3, [
    ...tied('1', early, `${late.slice(0, 31)}1`),
    ...tied('2', `${late.slice(0, 31)}1`, early),
  ]);
  addSteps(own, 3, [{ name: 'view', atMs: T0, sessionId: '3' }]);
  own.cut(3);
  await own.land(3, fixture.store);
  own.complete(3);
  for (const groupBy of ['session_id', 'profile_id'] as const) {
    const answer = await ask({ ...DEFAULTS, groupBy }, own, 'own');
    expect(answer.steps.map(({ users }) => users)).toEqual(groupBy === 'session_id' ? [3, 1, 1] : [1, 1, 1]);
  }
});

test('the begin of a session that does not pass the filters of its step does not count between steps', async () => {
  const own = new Visits(4);
  const names = ['view', 'session_start', 'x', 'cart'];
  addSteps(
    own,
    3,
    names.map((name, index) => ({ name, atMs: T0 + index, sessionId: '1' })),
  );
  const nowhere = [{ name: 'country', operator: 'is', value: ['XX'] }];
  const steps = ['view', 'cart', { name: 'session_start', filters: nowhere }];
  const answer = await ask({ ...DEFAULTS, steps, between: true }, own, 'own');
  expect(answer.steps[1]?.between?.events).toEqual([{ name: 'x', events: 1 }]);
});

test('events outside of the range are no steps', async () => {
  const at = (name: string, atMs: number) => ({ name, atMs, sessionId: '1' });
  expect(await usersOf([at('view', SPAN.fromMs - 1), at('cart', SPAN.fromMs)])).toEqual([0, 0, 0]);
  expect(await usersOf([at('view', SPAN.toMs - 2), at('cart', SPAN.toMs - 1), at('buy', SPAN.toMs)])).toEqual(
    [1, 1, 0],
  );
});

test('by profile, a visitor who is identified later is one user over all sessions, and events without a session count', async () => {
  const events = [
    { name: 'view', atMs: T0, sessionId: '1', deviceId: 'a' },
    { name: 'cart', atMs: T0 + 1, sessionId: '1', deviceId: 'a', profileId: 'p' },
    { name: 'buy', atMs: T0 + 2, sessionId: '2', deviceId: 'b', profileId: 'p' },
    { name: 'view', atMs: T0, deviceId: 'c' },
    { name: 'cart', atMs: T0 + 1, deviceId: 'c' },
    { name: 'view', atMs: T0, deviceId: '' },
  ];
  expect(await usersOf(events)).toEqual([1, 1, 0]);
  expect(await usersOf(events, { groupBy: 'profile_id' })).toEqual([2, 2, 1]);
});

test('a funnel of nothing has zeros, and no highest dropoff', async () => {
  const answer = await ask({ ...DEFAULTS, breakdown: BREAKDOWNS[0] }, new Visits(4), 'nothing');
  expect(answer).toMatchObject({ totalUsers: 0, completedUsers: 0, overallConversionRate: 0 });
  expect(answer).toMatchObject({ breakdown: [], breakdownValues: 0 });
  for (const step of answer.steps)
    expect(step).toMatchObject({ users: 0, conversionRateFromPrevious: 0, isHighestDropoff: false });
});

test('a breakdown with too many values, and users with too many events, are rejected', async () => {
  const own = new Visits(4);
  const steps = ['view', 'cart', 'view'].map((name, at) => ({ name, atMs: T0 + at, sessionId: '1' }));
  addSteps(own, 3, [
    ...steps,
    ...Array.from({ length: 70 }, (_, at) => ({
      name: 'view',
      atMs: T0,
      sessionId: `a${at}`,
      path: `/${at}`,
    })),
    // An event of step 2 before step 1 does not make its sender a user of step 2, and is not reported.
    ...['cart', 'view'].map((name, at) => ({ name, atMs: T0 + at, sessionId: 'e' })),
  ]);
  const asked = { ...DEFAULTS, breakdown: ['path', ({ path }: SeenEvent) => path] as const };
  const within = { ...FUNNEL_LIMITS, eventsMax: 3, valuesMax: 71 };
  const answer = await ask(asked, own, 'own', within);
  expect(answer).toMatchObject({ totalUsers: 72, breakdownValues: 71 });
  expect(answer.breakdown).toHaveLength(10);
  for (const valuesMax of [70, 3])
    await expect(ask(asked, own, 'own', { ...within, valuesMax })).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/^breakdown: /),
    });
  await expect(ask(asked, own, 'own', { ...within, eventsMax: 2 })).rejects.toMatchObject({
    status: 400,
    message: expect.stringMatching(/^range: /),
  });
});

const FILTERED = '{"name":"a","filters":[{"name":"path","operator":"is","value":["/"]}]}';
test.each([
  ['steps=a&steps=b', ['a', 'b'], 0],
  ['steps[]=a&steps[]=b', ['a', 'b'], 0],
  ['steps=["a","*"]', ['a', '*'], 0],
  [`steps=${FILTERED}&steps=b`, ['a', 'b'], 1],
  [`steps=["b",${FILTERED}]`, ['b', 'a'], 1],
])('the steps of %s are read', (query, names, filters) => {
  const { steps } = readParameters(query, funnelQuery);
  expect(steps.map(({ name }) => name)).toEqual(names);
  expect(steps.flatMap((step) => step.filters)).toHaveLength(filters);
});

test.each([
  ['', /^steps: /],
  ['steps=["a"]', /^steps: expected at least 2 steps/],
  [`steps=${JSON.stringify(Array(11).fill('a'))}`, /^steps: expected at most 10 steps/],
  ['steps=a', /^steps: expected a JSON array/],
  ['steps=["a",""]', /^steps\.1: expected a non-empty string/],
  ['steps=["a",{"name":"b","colour":1}]', /^steps\.1: /],
  [
    'steps=["a",{"name":"b","filters":[{"name":"x","operator":"is","value":["1"]}]}]',
    /^steps\.1\.filters\.0\.name: unknown field x/,
  ],
  ['steps=["a",7]', /^steps\.1: /],
  ['steps=["a","b"]&windowHours=0', /^windowHours: /],
  ['steps=["a","b"]&windowHours=721', /^windowHours: /],
  ['steps=["a","b"]&groupBy=device', /^groupBy: /],
  ['steps=["a","b"]&breakdown=groups', /^breakdown: groups is not/],
  ['steps=["a","b"]&breakdown=profile.email', /^breakdown: profile.email is not/],
])('funnel?%s is rejected with the reason', (query, message) => {
  expect(() => readParameters(query, funnelQuery)).toThrow(
    expect.objectContaining({ status: 400, message: expect.stringMatching(message) }),
  );
});
