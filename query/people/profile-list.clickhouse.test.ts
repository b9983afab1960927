import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { insertProfile, noteErasure, type StoredProfile } from '../testing/stored-profiles.ts';
import { Zones } from '../time/zone.ts';
import { profileListInsight } from './profile-list.ts';
import {
  type ListedProfile,
  listedProfile,
  type ProfileListAnswer,
  type ProfileListQuery,
  profileListQuery,
} from './profile-list-api.ts';
import { PeopleTraffic } from './testing/people-traffic.ts';
import { recordsOf } from './testing/records.ts';

const TO_MS = Date.parse('2026-06-15T12:00:00Z');
const scope = { site: modelSite('site'), zone: new Zones().of('UTC'), nowMs: TO_MS };
const seed = Number(process.env.SEED ?? 5);
const NEVER = Number.NEGATIVE_INFINITY;

let fixture: HistoryStore;
// Half of the visits are older than the days that are searched first.
const traffic = new PeopleTraffic(new SeededRandom(seed), {
  fromMs: TO_MS - 200 * DAY_MS,
  toMs: TO_MS,
  people: 25,
  // Sums of some profiles, and of the site, exceed 64 bits.
  amountScale: 700_000_000_000_000n,
});
const documents = new Map<string, StoredProfile>();
const erased = new Set<string>();
let stored: 'stored' | 'unavailable' = 'stored';

async function describe(profile: StoredProfile): Promise<void> {
  documents.set(profile.id, profile);
  await insertProfile(fixture.store, 'site', profile);
}

beforeAll(async () => {
  fixture = await startHistoryStore();
  const times = { createdAtMs: TO_MS - 10 * DAY_MS, updatedAtMs: TO_MS - DAY_MS };
  await describe({ id: 'p1', firstName: 'Nobody', ...times, version: 1 });
  await describe({
    id: 'p1',
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: 'ADA@Shop.example',
    ...times,
    version: 2,
    properties: { plan: 'pro', 'seat.row': '7' },
    groups: ['g'],
  });
  await describe({
    id: 'p2',
    firstName: 'Grace',
    lastName: 'Hopper',
    ...times,
    createdAtMs: TO_MS - 9 * DAY_MS,
    version: 3,
    properties: { plan: 'free' },
  });
  await describe({ id: 'Silent-1', firstName: 'Émile', email: 'ada2@shop.example', ...times, version: 4 });
  await describe({
    id: 'silent-2',
    ...times,
    createdAtMs: TO_MS - 8 * DAY_MS,
    version: 5,
    properties: { plan: '' },
  });
  await describe({ id: 'gone', firstName: 'Ada', ...times, version: 6 });
  await noteErasure(fixture.store, 'site', 'gone');
  await noteErasure(fixture.store, 'site', 'p3');
  for (const id of ['gone', 'p3']) erased.add(id);
  await insertProfile(fixture.store, 'other', { id: 'foreign', ...times, version: 1 });
  // Replaced states stay beside the current ones.
  await fixture.store.command('SYSTEM STOP MERGES sessions');
  for (const isKnown of [true, true, false]) {
    traffic.add(80);
    for (const lane of [0, 1]) {
      traffic.visits.cut(lane);
      await traffic.visits.land(lane, fixture.store);
      if (isKnown) traffic.visits.complete(lane);
    }
  }
  // Two flushes are complete, the third one is in the store but not known to be complete, and the rest is hot.
  traffic.add(50);
});
afterAll(async () => {
  await fixture.stop();
});
beforeEach(() => {
  stored = 'stored';
});

function insight(candidatesMax?: number) {
  const sources = { history: fixture.history, hot: traffic.visits.hotView(), records: recordsOf({ stored }) };
  return profileListInsight(sources, candidatesMax);
}

async function ask(text: string, candidatesMax?: number): Promise<ProfileListAnswer> {
  return insight(candidatesMax).answer(scope, readParameters(text, profileListQuery));
}

/** Every row of the list. Examines all events and documents for each profile. Slow and obvious. */
function everyone(): ListedProfile[] {
  const sessions = traffic.sessions();
  const alone = traffic.alone();
  const named = [...sessions, ...alone].map(({ profileId }) => profileId);
  const ids = new Set([...named, ...documents.keys()].filter((id) => id !== '' && !erased.has(id)));
  return [...ids].map((id) => {
    const own = sessions.filter(({ profileId }) => profileId === id);
    const events = alone.filter(({ profileId }) => profileId === id);
    const starts = [...own.map(({ startedAtMs }) => startedAtMs), ...events.map(({ atMs }) => atMs)];
    const ends = [...own.map(({ endedAtMs }) => endedAtMs), ...events.map(({ atMs }) => atMs)];
    const amounts = new Map<string, number>();
    for (const { currency, revenue } of [...own.flatMap((session) => session.events), ...events])
      if (currency !== '') amounts.set(currency, (amounts.get(currency) ?? 0) + Number(revenue));
    const revenueByCurrency = Object.fromEntries(
      [...amounts]
        .filter(([, amount]) => amount !== 0)
        .map(([currency, amount]) => [currency, amount / (currency === 'JPY' ? 1 : 100)]),
    );
    const document = documents.get(id);
    return {
      id,
      firstName: document?.firstName ?? '',
      lastName: document?.lastName ?? '',
      email: document?.email ?? '',
      avatar: '',
      properties: { ...document?.properties },
      groups: [...(document?.groups ?? [])],
      createdAt: document === undefined ? null : new Date(document.createdAtMs).toISOString(),
      updatedAt: document === undefined ? null : new Date(document.updatedAtMs).toISOString(),
      firstSeen: starts.length === 0 ? null : new Date(Math.min(...starts)).toISOString(),
      lastSeen: ends.length === 0 ? null : new Date(Math.max(...ends)).toISOString(),
      sessions: own.length,
      revenue: revenueByCurrency.EUR ?? 0,
      revenueByCurrency,
    };
  });
}

function sorted(rows: readonly ListedProfile[], sortValue: (row: ListedProfile) => number): ListedProfile[] {
  return [...rows].sort((a, b) => {
    const [one, other] = [sortValue(a), sortValue(b)];
    return one === other ? Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)) : one > other ? -1 : 1;
  });
}

const timeOf = (time: string | null) => (time === null ? NEVER : Date.parse(time));
const SORTS = [
  ['lastSeen', ({ lastSeen }: ListedProfile) => timeOf(lastSeen)],
  ['sessions', ({ sessions }: ListedProfile) => sessions],
  ['revenue', ({ revenue }: ListedProfile) => revenue],
  ['createdAt', ({ createdAt }: ListedProfile) => timeOf(createdAt)],
] as const;

test.each(SORTS)(
  'by %s the list holds every profile once, on one page and on many',
  async (sort, sortValue) => {
    const expected = sorted(everyone(), sortValue);
    expect(expected.length).toBeGreaterThan(20);
    const whole = await ask(`sort=${sort}&limit=1000`);
    expect(whole, `seed ${seed}`).toEqual(expected);
    for (const row of whole) listedProfile.strict().parse(row);
    const followed: ListedProfile[] = [];
    const { answer, next } = insight();
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const query: ProfileListQuery = readParameters(
        `sort=${sort}&limit=11&cursor=${cursor}`,
        profileListQuery,
      );
      const page = await answer(scope, query);
      followed.push(...page);
      cursor = next?.(query, page);
    }
    expect(followed).toEqual(expected);
    expect(await ask(`sort=${sort}&limit=3&cursor=5`)).toEqual(expected.slice(5, 8));
  },
);

test.each([
  ['search=ada', ({ firstName, email }: ListedProfile) => /ada/i.test(firstName + email)],
  ['search=LOVE', ({ lastName }: ListedProfile) => lastName === 'Lovelace'],
  ['search=ada%20lovelace', ({ lastName }: ListedProfile) => lastName === 'Lovelace'],
  ['search=%C3%A9mile', ({ firstName }: ListedProfile) => firstName === 'Émile'],
  ['search=MILE', ({ firstName }: ListedProfile) => firstName === 'Émile'],
  ['search=lovelace%0Aada', () => false],
  ['search=P1', ({ id }: ListedProfile) => id.includes('p1')],
  ['search=silent', ({ id }: ListedProfile) => /silent/i.test(id)],
  ["search='%20OR%201=1", () => false],
  ['property=plan', ({ properties }: ListedProfile) => (properties.plan ?? '') !== ''],
  ['property=plan&value=free', ({ properties }: ListedProfile) => properties.plan === 'free'],
  ['property=seat.row&value=7', ({ properties }: ListedProfile) => properties['seat.row'] === '7'],
  [
    'filters=[{"name":"profile.first_name","operator":"isNull"}]',
    ({ firstName }: ListedProfile) => firstName === '',
  ],
  [
    'search=p&filters=[{"name":"profile.id","operator":"isNot","value":["p1"]}]',
    ({ id, lastName, email }: ListedProfile) => id !== 'p1' && /p/i.test(`${id} ${lastName} ${email}`),
  ],
  [
    'filters=[{"name":"profile.groups","operator":"is","value":["g"]}]',
    ({ groups }: ListedProfile) => groups.includes('g'),
  ],
])('profiles?%s lists the profiles that match', async (query, matches) => {
  const expected = sorted(everyone().filter(matches), ({ lastSeen }) => timeOf(lastSeen));
  expect(await ask(`${query}&limit=1000`)).toEqual(expected);
  // The same with too many matches to name them, on a page that fits into the newest days and on one that does not.
  expect(await ask(`${query}&limit=1000`, 0)).toEqual(expected);
  expect(await ask(`${query}&limit=2`, 0)).toEqual(expected.slice(0, 2));
});

test.each([
  [
    'filters=[{"name":"path","operator":"is","value":["/"]}]',
    /^filters\.0\.name: expected a field of the profile/,
  ],
  ['value=pro', /^value: expected together with property/],
  ['sort=name', /^sort: /],
  ['limit=1001', /^limit: /],
  ['cursor=sessions_1_cDE', /^cursor: it belongs to sort=sessions/],
  ['cursor=lastSeen_170141183460469231731687303715884105728_cDE', /^cursor: /],
  [`search=${'a'.repeat(257)}`, /^search: /],
])('profiles?%s is rejected with the reason', async (query, message) => {
  const error = await Promise.resolve()
    .then(() => ask(query))
    .catch((cause: unknown) => cause);
  expect(error).toMatchObject({ status: 400, message: expect.stringMatching(message) });
});

test('without the word of an owner the list is 503, and with partial=true it is what the store has', async () => {
  stored = 'unavailable';
  await expect(ask('')).rejects.toMatchObject({ status: 503 });
  expect(await ask('partial=true&limit=1000')).toHaveLength(everyone().length);
});
