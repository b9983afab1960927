import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { Visits } from '../testing/visits.ts';
import { Zones } from '../time/zone.ts';
import { addJourneys, addSteps, landSome, sceneOf } from './testing/journeys.ts';
import { type AskedFlow, slowFlow } from './testing/slow-flow.ts';
import { answerUserFlow } from './user-flow.ts';
import { type UserFlowAnswer, userFlowAnswer, userFlowQuery } from './user-flow-api.ts';

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

const anyFlow: fc.Arbitrary<AskedFlow> = fc.record({
  by: fc.constantFrom('pages', 'events'),
  direction: fc.constantFrom('forward', 'backward'),
  depth: fc.integer({ min: 1, max: 8 }),
  limit: fc.integer({ min: 1, max: 5 }),
  start: fc.option(fc.constantFrom('/', '/b', "/it's", 'cart', '/none'), { nil: undefined }),
  filters: fc.array(
    fc.constantFrom(
      { name: 'country', operator: 'is', value: ['DE', ''] },
      { name: 'path', operator: 'isNot', value: ['/a'] },
      { name: 'screenViews', operator: 'lt', value: ['100'] },
    ),
    { maxLength: 1 },
  ),
});

async function ask(asked: Partial<AskedFlow>, visits: Visits, site = 'site'): Promise<UserFlowAnswer> {
  const { filters = [], ...texts } = asked;
  const text = new URLSearchParams({
    filters: JSON.stringify(filters),
    startDate: new Date(SPAN.fromMs).toISOString(),
    endDate: new Date(SPAN.toMs).toISOString(),
  });
  for (const [name, value] of Object.entries(texts)) if (value !== undefined) text.set(name, String(value));
  const scope = { site: modelSite(site), zone, nowMs: NOW_MS };
  const sources = { history: fixture.history, hot: visits.hotView() };
  return answerUserFlow(sources, scope, readParameters(String(text), userFlowQuery));
}

function shapeOf({ nodes, links }: UserFlowAnswer) {
  return {
    nodes: Object.fromEntries(nodes.map(({ id, sessions }) => [id, sessions])),
    links: Object.fromEntries(
      links.map(({ source, target, sessions }) => [`${source} to ${target}`, sessions]),
    ),
  };
}

/** Sessions that arrive at a node, or leave it. */
function sumAt({ links }: UserFlowAnswer, end: 'source' | 'target', id: string): number {
  return links.reduce((sum, link) => sum + (link[end] === id ? link.sessions : 0), 0);
}

test('a flow equals following each session, hot, stored, and split by flushes, and its links add up', async () => {
  const visits = new Visits(2);
  const seeded = new SeededRandom(seed);
  const found = { other: 0, exit: 0, deep: 0 };
  for (let round = 0; round < 4; round += 1) {
    addJourneys(visits, seeded, { ...SPAN, events: 400, sessions: 20, visitors: 14 });
    // All hot; stored, unknown to the owners; known; and with further hot rows.
    if (round > 0) await landSome(visits, fixture);
    if (round === 2) for (const lane of [0, 1]) visits.complete(lane);
    await fc.assert(
      fc.asyncProperty(anyFlow, async (asked) => {
        const answer = await ask(asked, visits);
        expect(shapeOf(answer), `seed ${seed}`).toEqual(slowFlow(asked, sceneOf(visits), SPAN));
        for (const { id, column, sessions, isExit } of answer.nodes) {
          if (column > 0) expect(sumAt(answer, 'target', id)).toBe(sessions);
          if (column < asked.depth && !isExit) expect(sumAt(answer, 'source', id)).toBe(sessions);
        }
        if (answer.nodes.some(({ isOther }) => isOther)) found.other += 1;
        if (answer.nodes.some(({ isExit }) => isExit)) found.exit += 1;
        if (answer.nodes.some(({ column }) => column >= 5)) found.deep += 1;
      }),
      { numRuns: 10, seed: seed + round },
    );
  }
  expect(Math.min(...Object.values(found))).toBeGreaterThan(2);
});

test('a reload is no step, a return is a node of a later column, and other values are summed', async () => {
  const own = new Visits(4);
  const views = (sessionId: string, paths: readonly string[]) =>
    addSteps(
      own,
      3,
      paths.map((path, at) => ({ sessionId, name: 'screen_view', path, atMs: SPAN.fromMs + at * 1_000 })),
    );
  views('1', ['/', '/a', '/a', '/']);
  views('2', ['/', '/b']);
  views('3', ['/', '/a', '/c']);
  views('4', ['/x', '/']);
  const flow = await ask({ start: '/', depth: 2, limit: 1 }, own, 'own');
  expect(flow.sessions).toBe(4);
  expect(shapeOf(flow)).toEqual({
    nodes: {
      '0:value:/': 4,
      '1:value:/a': 2,
      '1:other': 1,
      '1:exit': 1,
      '2:value:/': 1,
      '2:other': 1,
      '2:exit': 1,
    },
    links: {
      '0:value:/ to 1:value:/a': 2,
      '0:value:/ to 1:other': 1,
      '0:value:/ to 1:exit': 1,
      '1:value:/a to 2:value:/': 1,
      '1:value:/a to 2:other': 1,
      '1:other to 2:exit': 1,
    },
  });
  expect(flow.nodes.map(({ id }) => id)).toEqual([
    ...['0:value:/', '1:value:/a', '1:other', '1:exit'],
    ...['2:value:/', '2:other', '2:exit'],
  ]);
  expect(userFlowAnswer.parse(flow)).toEqual(flow);
  // Backward from the last `/` of each session.
  const back = await ask({ start: '/', depth: 1, direction: 'backward' }, own, 'own');
  expect(shapeOf(back).nodes).toEqual({ '0:value:/': 4, '1:value:/a': 1, '1:value:/x': 1, '1:exit': 2 });
  expect(await ask({ start: '/nowhere' }, own, 'own')).toEqual({ nodes: [], links: [], sessions: 0 });
  expect(await ask({}, own, 'nothing')).toEqual({ nodes: [], links: [], sessions: 0 });
});

test.each([
  ['depth=0', /^depth: /],
  ['depth=9', /^depth: /],
  ['limit=31', /^limit: /],
  ['by=clicks', /^by: /],
  ['direction=up', /^direction: /],
  [`start=${'x'.repeat(4_097)}`, /^start: /],
])('user_flow?%s is rejected with the reason', (query, message) => {
  expect(() => readParameters(query, userFlowQuery)).toThrow(
    expect.objectContaining({ status: 400, message: expect.stringMatching(message) }),
  );
});
