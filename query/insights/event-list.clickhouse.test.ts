import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { Statement } from '../snapshot/statement.ts';
import { FLUSHES, type FlushedEvent, FlushedEvents } from '../testing/flushed-events.ts';
import { awayHistory, type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { Zones } from '../time/zone.ts';
import { answerEventList, eventListInsight } from './event-list.ts';
import { eventListAnswer, eventListQuery } from './event-list-api.ts';

const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
const zone = new Zones().of('Europe/Berlin');
// Seven days up to the end of today in Berlin. Its clocks go back today.
const FROM_MS = Date.parse('2026-10-18T22:00:00Z');
const TO_MS = Date.parse('2026-10-25T23:00:00Z');

let fixture: HistoryStore;
const model = new FlushedEvents(new SeededRandom(20_261_025), {
  events: 900,
  fromMs: FROM_MS - 2 * DAY_MS,
  toMs: TO_MS,
});
beforeAll(async () => {
  fixture = await startHistoryStore();
});
afterAll(async () => {
  await fixture.stop();
});

function ask(query: string, known: number, history = fixture.history) {
  const scope = { site: modelSite('site', 'Europe/Berlin'), zone, nowMs: NOW_MS };
  const sources = { history, hot: model.hotView(known) };
  return answerEventList(sources, scope, readParameters(query, eventListQuery));
}

/** The ids of matching events in the range, in the order of an answer. */
function expectedIds(isWanted: (event: FlushedEvent) => boolean, fromMs = FROM_MS): readonly string[] {
  return model.ours
    .filter((event) => event.atMs >= fromMs && event.atMs < TO_MS && isWanted(event))
    .sort((a, b) => b.atMs - a.atMs || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id);
}

function isReal({ name }: FlushedEvent): boolean {
  return name !== 'session_start' && name !== 'session_end';
}

async function allPages(known: number, limit: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor = 0; ; cursor += limit) {
    const page = await ask(`limit=${limit}&cursor=${cursor}`, known);
    ids.push(...page.map(({ id }) => id));
    if (page.length < limit) return ids;
  }
}

/** All ids by following the cursor of each page. */
async function followedPages(known: number, limit: number): Promise<readonly string[]> {
  const { next, schema } = eventListInsight({ history: fixture.history, hot: model.hotView(known) });
  const ids: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const query: string = `limit=${limit}&cursor=${cursor}`;
    const page = await ask(query, known);
    ids.push(...page.map(({ id }) => id));
    cursor = next?.(readParameters(query, schema), page);
  }
  return ids;
}

test('the pages hold every event once and in order, whether it is hot, stored, or both', async () => {
  const expected = expectedIds(isReal);
  expect(expected.length).toBeGreaterThan(300);
  for (let stored = 0; stored <= FLUSHES; stored += 1) {
    if (stored > 0) await model.land(fixture.store, stored);
    if (stored === 2) await fixture.store.command('OPTIMIZE TABLE events FINAL');
    for (let known = 0; known <= stored; known += 1) {
      expect(await allPages(known, 97), `known ${known} of ${stored}`).toEqual(expected);
    }
    expect(await followedPages(stored >> 1, 89), `of ${stored}`).toEqual(expected);
  }
});

test('a page has ten rows by default, and each is the event as exported', async () => {
  const page = await ask('', 2);
  expect(eventListAnswer.safeParse(page).success).toBe(true);
  expect(page.map(({ id }) => id)).toEqual(expectedIds(isReal).slice(0, 10));
  for (const row of page) {
    const event = model.ours.find(({ id }) => id === row.id);
    expect(row).toMatchObject({
      name: event?.name,
      createdAt: new Date(event?.atMs ?? 0).toISOString(),
      deviceId: event?.deviceId,
      profileId: event?.profileId,
      sessionId: event?.sessionId,
      path: event?.path,
      properties: Object.fromEntries(pairsOf(event?.properties ?? [])),
    });
    for (const group of ['referrer', 'region', 'longitude', 'brand', 'revenue', 'currency', 'utmSource']) {
      expect(row).toHaveProperty(group);
    }
    expect(row).not.toHaveProperty('receivedAt');
  }
});

function pairsOf(flat: readonly string[]): [string, string][] {
  return flat.flatMap((key, index) => (index % 2 === 0 ? [[key, flat[index + 1] ?? '']] : []));
}

test.each<[string, (event: FlushedEvent) => boolean]>([
  ['event=click', ({ name }) => name === 'click'],
  ['event=click&event=sign+up', ({ name }) => name === 'click' || name === 'sign up'],
  ['event=session_start', ({ name }) => name === 'session_start'],
  ["event=o'hara", () => false],
  ['profileId=p3', (event) => isReal(event) && event.profileId === 'p3'],
  [`sessionId=${'1a7'.padStart(32, '0')}`, (event) => isReal(event) && event.sessionId.endsWith('01a7')],
  [`sessionId=${'1A7'.padStart(32, '0')}`, (event) => isReal(event) && event.sessionId.endsWith('01a7')],
  ['profileId=p3&event=click', (event) => event.name === 'click' && event.profileId === 'p3'],
])('events?%s lists exactly the matching events', async (query, isWanted) => {
  const found = await ask(`${query}&limit=1000`, 2);
  expect(found.map(({ id }) => id)).toEqual(expectedIds(isWanted));
});

test('a range of years lists like a short one', async () => {
  const found = await ask('startDate=1990-01-01&endDate=2026-10-25&limit=25&cursor=500', 3);
  expect(found.map(({ id }) => id)).toEqual(expectedIds(isReal, 0).slice(500, 525));
});

test('a page of a long range counts the newest two hours first, then a day, and no older part than the page needs', async () => {
  const year = 'startDate=2025-10-26&endDate=2026-10-25';
  const countedFrom: number[] = [];
  const recording = {
    ask: (statement: Statement, seam: Seam) => {
      if (statement.name === 'event-list-pieces') countedFrom.push(Number(statement.parameters.from));
      return fixture.history.ask(statement, seam);
    },
    rejectAway: () => {},
  } as unknown as typeof fixture.history;
  const pageOf = async (query: string) => {
    countedFrom.length = 0;
    const found = await ask(`${year}&${query}`, 3, recording);
    return found.map(({ id }) => id);
  };
  const expected = expectedIds(isReal, 0);
  const ago = (hours: number) => Math.floor(NOW_MS / HOUR_MS - hours) * HOUR_MS;
  expect(await pageOf('limit=20')).toEqual(expected.slice(0, 20));
  expect(countedFrom).toEqual([ago(2)]);
  // Events are in the last ten days.
  expect(await pageOf('limit=20&cursor=200')).toEqual(expected.slice(200, 220));
  expect(countedFrom).toEqual([ago(2), ago(24), ago(12 * 24)]);
  expect(await pageOf(`limit=20&cursor=${expected.length - 10}`)).toEqual(expected.slice(-10));
  expect(countedFrom).toEqual([
    ...[ago(2), ago(24), ago(12 * 24), ago(144 * 24)],
    Date.parse('2025-10-25T22:00:00Z'),
  ]);
});

test.each([
  ['limit=0', /^limit: /],
  ['limit=1001', /^limit: /],
  ['cursor=-1', /^cursor: /],
  ['cursor=abc', /^cursor: /],
  ['sessionId=7', /^sessionId: expected 32 hexadecimal digits/],
  ['filters=[{"name":"path","operator":"is","value":[7,null]}]', /^filters\.0\.value\.1: /],
  ['range=7d&startDate=2026-01-01', /^range: /],
])('events?%s is rejected with the reason', async (query, message) => {
  const error = await Promise.resolve()
    .then(() => ask(query, 0))
    .catch((cause: unknown) => cause);
  expect(error).toMatchObject({ status: 400, message: expect.stringMatching(message) });
});

test.each(['', 'partial=true'])(
  'without the store a list is rejected, never cut short: ?%s',
  async (query) => {
    const history = awayHistory();
    await expect(ask(query, 0, history)).rejects.toMatchObject({ status: 503, reason: 'store-away' });
  },
);
