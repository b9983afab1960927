import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { HOUR_MS, MINUTE_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { repeats } from '../../infra/testing/thoroughness.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import { CacheSpace } from '../rollups/finalized-cache.ts';
import type { SeamSources } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { Statement } from '../snapshot/statement.ts';
import type { StatementName } from '../sql/answer-rows.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { LateLanding } from '../testing/late-landing.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { Visits } from '../testing/visits.ts';
import type { Span } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import { FinalizedFunnels } from './finalized-funnels.ts';
import { answerFunnel } from './funnel.ts';
import { type FunnelAnswer, funnelQuery } from './funnel-api.ts';
import { addSteps, NO_TEXTS } from './testing/journeys.ts';

const SITE = storedId('site');
const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
/** Hours before this are finalized. */
const FINALIZED_MS = Date.parse('2026-10-25T08:00:00Z');
const SPAN = { fromMs: Date.parse('2026-10-23T20:00:00Z'), toMs: Date.parse('2026-10-25T12:00:00Z') };
const ROUNDS = repeats(2);
const NAMES = ['screen_view', 'screen_view', 'cart', 'sign up', 'buy', 'session_end'] as const;
const PATHS = ['/', '/a', '/b', '/c'] as const;
const COUNTRIES = ['DE', 'FR', ''] as const;

interface MadeSession {
  readonly id: string;
  readonly lane: number;
  readonly startMs: number;
  readonly country: string;
}

const scope = { site: modelSite(SITE), zone: new Zones().of('UTC'), nowMs: NOW_MS };
const seed = Number(process.env.SEED ?? 20_261_127);
const seeded = new SeededRandom(seed);
const visits = new Visits(2);
const sessions: MadeSession[] = [];
const landing = new LateLanding(visits);
/** Sessions with events on both sides of the last finalized hour's end, summed over questions. */
let crossed = 0;

let fixture: HistoryStore;
beforeAll(async () => {
  fixture = await startHistoryStore();
});
afterAll(async () => {
  await fixture.stop();
});

const history: SeamSources['history'] = {
  ask: async <Name extends StatementName>(statement: Statement<Name>, seam: Seam) => {
    const rows = await fixture.history.ask(statement, seam);
    if (statement.name === 'crossing-sessions' && statement.parameters.at === FINALIZED_MS)
      crossed += rows.length;
    return rows;
  },
  rejectAway: () => {},
};

/** Adds events of a session at whole minutes, so that some have the same time. */
function addEvents({ id, lane, country }: MadeSession, { fromMs, toMs }: Span): void {
  const events = Array.from({ length: 1 + seeded.below(6) }, () => ({
    projectId: SITE,
    sessionId: id,
    deviceId: `d${id}`,
    name: seeded.one(NAMES),
    path: seeded.one(PATHS),
    atMs: Math.floor((fromMs + seeded.below(toMs - fromMs)) / MINUTE_MS) * MINUTE_MS,
    columns: { ...NO_TEXTS, country },
  }));
  addSteps(visits, lane, events);
}

function addSessions(count: number, { fromMs, toMs }: Span): void {
  for (let index = 0; index < count; index += 1) {
    const lane = seeded.below(2);
    const startMs = fromMs + seeded.below(toMs - fromMs);
    const session = {
      id: `${lane}c${sessions.length.toString(16)}`,
      lane,
      startMs,
      country: seeded.one(COUNTRIES),
    };
    sessions.push(session);
    addEvents(session, { fromMs: startMs, toMs: Math.min(startMs + 3 * HOUR_MS, toMs) + MINUTE_MS });
  }
}

/** Sessions of the last finalized hours continue. */
function goOn(count: number): void {
  const recent = sessions.filter(
    ({ startMs }) => startMs >= FINALIZED_MS - 4 * HOUR_MS && startMs < FINALIZED_MS,
  );
  for (let index = 0; index < count; index += 1)
    addEvents(must(recent[seeded.below(recent.length)], 'a session'), {
      fromMs: FINALIZED_MS,
      toMs: FINALIZED_MS + 2 * HOUR_MS,
    });
}

/** Sessions get further events in finalized hours. */
function changeLate(count: number): void {
  const before = sessions.filter(({ startMs }) => startMs < FINALIZED_MS - HOUR_MS);
  for (let index = 0; index < count; index += 1) {
    const session = must(before[seeded.below(before.length)], 'a session');
    addEvents(session, { fromMs: session.startMs, toMs: session.startMs + HOUR_MS });
  }
}

interface FunnelQuestion {
  readonly steps: readonly (string | object)[];
  readonly windowHours: number;
  readonly filters: readonly object[];
}

const country = { name: 'country', operator: 'isNot', value: ['DE'] };
const path = { name: 'path', operator: 'is', value: ['/', '/a', '/b'] };
const anyName = fc.constantFrom('screen_view', 'cart', 'sign up', 'buy', '*');
const anyStep = fc.oneof(anyName, fc.record({ name: anyName, filters: fc.constantFrom([path], [country]) }));
const anyQuestion: fc.Arbitrary<FunnelQuestion> = fc.record({
  steps: fc.array(anyStep, { minLength: 2, maxLength: 4 }),
  windowHours: fc.constantFrom(1, 24),
  filters: fc.constantFrom([], [], [country], [path]),
});

function ask(
  question: FunnelQuestion,
  hot: SeamSources['hot'],
  funnels?: FinalizedFunnels,
): Promise<FunnelAnswer> {
  const text = new URLSearchParams({
    steps: JSON.stringify(question.steps),
    windowHours: String(question.windowHours),
    filters: JSON.stringify(question.filters),
    startDate: new Date(SPAN.fromMs).toISOString(),
    endDate: new Date(SPAN.toMs).toISOString(),
  });
  const sources = { history, hot, ...(funnels === undefined ? {} : { funnels }) };
  return answerFunnel(sources, scope, readParameters(String(text), funnelQuery));
}

test('funnels with a cached part equal those without, while sessions go on and hours change late', async () => {
  const funnels = new FinalizedFunnels(new CacheSpace(50_000_000), 0);
  const place = {
    store: fixture.store,
    site: SITE,
    finalizedMs: FINALIZED_MS,
    hours: 72,
    nowMs: NOW_MS,
  };
  let completed = 0;
  addSessions(150, { fromMs: SPAN.fromMs - HOUR_MS, toMs: FINALIZED_MS });
  for (let round = 0; round < ROUNDS; round += 1) {
    // While these are hot, and until their hours are rolled up again, no finalized part reaches them.
    goOn(10);
    await landing.landAll(place);
    // Unfinalized rows: landed, on their way, and open. In some rounds finalized hours change, too.
    addSessions(15, { fromMs: FINALIZED_MS, toMs: NOW_MS - HOUR_MS });
    if (round % 2 === 1) changeLate(4);
    visits.cut(0);
    if (seeded.chance(0.5)) await landing.land(0, place);
    if (seeded.chance(0.5)) visits.complete(0);
    addSessions(8, { fromMs: FINALIZED_MS, toMs: NOW_MS - HOUR_MS });
    if (round === ROUNDS - 1) goOn(2);
    const hot = visits.hotView();
    await fc.assert(
      fc.asyncProperty(anyQuestion, async (question) => {
        const wanted = await ask(question, hot);
        // The second question caches the finalized part.
        for (const time of [0, 1])
          expect(await ask(question, hot, funnels), `seed ${seed}, round ${round}, ${time}`).toEqual(wanted);
        completed += wanted.completedUsers;
      }),
      { numRuns: 6, seed: seed + round },
    );
  }
  expect(completed).toBeGreaterThan(30);
  expect(crossed).toBeGreaterThan(60);
});

test('only funnels of sessions whose filters say the same for ever have parts', () => {
  const hasParts = (more: Readonly<Record<string, string>>) => {
    const text = new URLSearchParams({ steps: '["a","b"]', range: '30d', ...more });
    return FinalizedFunnels.hasParts(readParameters(String(text), funnelQuery));
  };
  const filters = (name: string) => JSON.stringify([{ name, operator: 'is', value: ['true'] }]);
  expect(hasParts({})).toBe(true);
  expect(hasParts({ filters: filters('country') })).toBe(true);
  expect(hasParts({ filters: filters('properties.plan') })).toBe(true);
  expect(hasParts({ filters: filters('isBounce') })).toBe(false);
  expect(hasParts({ filters: filters('profile.properties.plan') })).toBe(false);
  expect(
    hasParts({ steps: JSON.stringify(['a', { name: 'b', filters: JSON.parse(filters('isBounce')) }]) }),
  ).toBe(false);
  expect(hasParts({ groupBy: 'profile_id' })).toBe(false);
  expect(hasParts({ breakdown: 'path' })).toBe(false);
  expect(hasParts({ between: 'true' })).toBe(false);
});
