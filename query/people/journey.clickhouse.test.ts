import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { Zones } from '../time/zone.ts';
import { profileJourneyInsight, sessionJourneyInsight } from './journey.ts';
import { type JourneyEvent, type JourneyQuery, journeyEvent, journeyQuery } from './journey-api.ts';
import { isSynthetic, PeopleTraffic, type PersonEvent } from './testing/people-traffic.ts';
import { recordsOf } from './testing/records.ts';

const TO_MS = Date.parse('2026-06-15T12:00:00Z');
const PEOPLE = 3;
const scope = { site: modelSite('site'), zone: new Zones().of('UTC'), nowMs: TO_MS };
const seed = Number(process.env.SEED ?? 31);

let fixture: HistoryStore;
const traffic = new PeopleTraffic(new SeededRandom(seed), {
  fromMs: TO_MS - 3 * DAY_MS,
  toMs: TO_MS,
  people: PEOPLE,
});

beforeAll(async () => {
  fixture = await startHistoryStore();
});
afterAll(async () => {
  await fixture.stop();
});

const sources = () => ({
  history: fixture.history,
  hot: traffic.visits.hotView(),
  records: recordsOf({ profiles: ['known'] }),
});

type Path = { readonly profileId: string } | { readonly sessionId: string };

function insightFor(path: Path) {
  return 'profileId' in path ? profileJourneyInsight(sources()) : sessionJourneyInsight(sources());
}

function ask(path: Path, text = '') {
  return insightFor(path).answer(scope, readParameters(text, journeyQuery), path);
}

async function followed(path: Path, text: string): Promise<JourneyEvent[]> {
  const { answer, next } = insightFor(path);
  const found: JourneyEvent[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const query: JourneyQuery = readParameters(`${text}&cursor=${cursor}`, journeyQuery);
    const page = await answer(scope, query, path);
    found.push(...page);
    cursor = next?.(query, page);
  }
  return found;
}

/** The journey, oldest first. Examines every event. */
function expected(path: Path, withSynthetic = false) {
  const own = new Set(
    traffic
      .sessions()
      .filter(({ id, profileId }) =>
        'profileId' in path ? profileId === path.profileId : id === path.sessionId,
      )
      .map(({ id }) => id),
  );
  const isOwn = ({ sessionId, profileId }: PersonEvent) =>
    sessionId === '' ? 'profileId' in path && profileId === path.profileId : own.has(sessionId);
  const events = traffic
    .ours()
    .filter(isOwn)
    .filter(({ name }) => withSynthetic || !isSynthetic(name))
    .sort((a, b) => a.atMs - b.atMs || (a.id < b.id ? -1 : 1));
  return events.map(({ id, sessionId, name, atMs }, at) => ({
    id,
    sessionId,
    name,
    createdAt: new Date(atMs).toISOString(),
    sincePreviousMs: at === 0 ? null : atMs - (events[at - 1]?.atMs ?? 0),
  }));
}

function shown(events: readonly JourneyEvent[]) {
  return events.map(({ id, sessionId, name, createdAt, sincePreviousMs }) => ({
    id,
    sessionId,
    name,
    createdAt,
    sincePreviousMs,
  }));
}

async function holds(): Promise<void> {
  const paths: Path[] = Array.from({ length: PEOPLE }, (_, number) => ({ profileId: `p${number}` }));
  const long = traffic.sessions().sort((a, b) => b.events.length - a.events.length);
  for (const path of [...paths, { sessionId: long[0]?.id ?? '' }]) {
    const all = expected(path);
    expect(shown(await ask(path, 'limit=1000')), `seed ${seed}`).toEqual(all);
    expect(shown(await ask(path, 'limit=5&order=desc'))).toEqual(all.slice(-5).reverse());
  }
}

test('a journey holds every event once and in order, whether events are hot, stored, or both', async () => {
  for (let round = 0; round < 2; round += 1) {
    traffic.add(120);
    for (const lane of [0, 1]) {
      traffic.visits.cut(lane);
      await traffic.visits.land(lane, fixture.store);
    }
    // The owners do not know yet that the flush is complete.
    await holds();
    for (const lane of [0, 1]) traffic.visits.complete(lane);
  }
  await holds();
  traffic.add(40);
  await holds();
});

test.each([
  ['limit=7', false],
  ['limit=7&order=desc', false],
  ['limit=6&synthetic=true', true],
  ['limit=50&order=desc&synthetic=true', true],
])(
  'pages of %s hold the whole journey, with the time since the event before on any page',
  async (text, withSynthetic) => {
    const path = { profileId: 'p1' };
    const all = expected(path, withSynthetic);
    expect(all.length).toBeGreaterThan(15);
    const events = await followed(path, text);
    expect(shown(events)).toEqual(text.includes('desc') ? all.reverse() : all);
    for (const event of events) journeyEvent.strict().parse(event);
  },
);

test('a page by a number of rows knows the time since the event before it', async () => {
  const all = expected({ profileId: 'p1' });
  expect(shown(await ask({ profileId: 'p1' }, 'limit=4&cursor=6'))).toEqual(all.slice(6, 10));
  expect(shown(await ask({ profileId: 'p1' }, 'limit=4&cursor=6&order=desc'))).toEqual(
    [...all].reverse().slice(6, 10),
  );
});

test('an unknown profile or session is 404, and what ends before the page is empty', async () => {
  for (const path of [{ profileId: 'nobody' }, { sessionId: 'ff'.repeat(16) }, { sessionId: "' OR 1" }])
    await expect(ask(path)).rejects.toMatchObject({ status: 404 });
  expect(await ask({ profileId: 'known' })).toEqual([]);
  const [session] = traffic.sessions();
  const behind = `cursor=${new Date(TO_MS + DAY_MS).toISOString()}_${'00'.repeat(16)}`;
  expect(await ask({ sessionId: session?.id ?? '' }, behind)).toEqual([]);
  await expect(ask({ sessionId: 'ff'.repeat(16) }, behind)).rejects.toMatchObject({ status: 404 });
});

test('a payment that was credited to a session at an earlier time is part of its journey', async () => {
  const id = 'c5'.repeat(16);
  await fixture.store.command(
    `INSERT INTO sessions (sign, version, partition, flushNumber, projectId, id, profileId, startedAt, endedAt, touchedAt, mixed, creditedAt)
     VALUES (1, 1, 0, 1, 'site', unhex({id:String}), 'payer', '2026-06-01 10:00:00', '2026-06-01 10:00:00', '2026-06-01 10:00:00', 1, '2026-05-20 08:00:00')`,
    { id },
  );
  await fixture.store.command(
    `INSERT INTO events (partition, flushNumber, projectId, id, sessionId, name, createdAt) VALUES
     (0, 1, 'site', unhex({first:String}), unhex({id:String}), 'revenue', '2026-05-20 08:00:00'),
     (0, 1, 'site', unhex({second:String}), unhex({id:String}), 'screen_view', '2026-06-01 10:00:00')`,
    { id, first: 'e1'.repeat(16), second: 'e2'.repeat(16) },
  );
  for (const path of [{ profileId: 'payer' }, { sessionId: id }])
    expect((await ask(path)).map(({ name, sincePreviousMs }) => [name, sincePreviousMs])).toEqual([
      ['revenue', null],
      ['screen_view', 12 * DAY_MS + 2 * HOUR_MS],
    ]);
});
