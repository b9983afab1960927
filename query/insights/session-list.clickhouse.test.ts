import { afterEach, beforeEach, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { FIRST } from '../cursor.ts';
import { readParameters } from '../http/parameters.ts';
import { type Seam, seamOf } from '../snapshot/seam.ts';
import type { Statement } from '../snapshot/statement.ts';
import type { StatementName } from '../sql/answer-rows.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite, OwnedLanes } from '../testing/owned-lanes.ts';
import type { ModelSession } from '../testing/owner-model.ts';
import { Zones } from '../time/zone.ts';
import { answerSessionList, listSessions, sessionListInsight } from './session-list.ts';
import {
  type ListedSession,
  listedSession,
  sessionListAnswer,
  sessionListQuery,
} from './session-list-api.ts';

const zone = new Zones().of('Asia/Kolkata');
// Two days in Kolkata. Sessions also begin up to a day earlier.
const FROM_MS = Date.parse('2026-05-02T18:30:00Z');
const TO_MS = Date.parse('2026-05-04T18:30:00Z');
const SPAN = { fromMs: FROM_MS, toMs: TO_MS };
const EVERYTHING = { cursor: FIRST, limit: 1_000, profileId: undefined, filters: [] };
const ROUNDS = 2;
const site = modelSite('site', 'Asia/Kolkata');

/** A state of a session, with the listed columns. */
interface State extends ModelSession {
  readonly deviceId: string;
  readonly profileId: string;
  readonly otherEvents: number;
  readonly entryPath: string;
  readonly exitPath: string;
  readonly country: string;
  readonly language: string;
  readonly timezone: string;
  readonly screen: string;
}

/** Sessions that begin, continue, turn out to have begun earlier, and get another profile. */
class Sessions {
  readonly lanes = new OwnedLanes(2);
  readonly #seeded: SeededRandom;
  readonly #states = new Map<string, State>();

  constructor(seed: number) {
    this.#seeded = new SeededRandom(seed);
  }

  change(times: number): void {
    for (let count = 0; count < times; count += 1) {
      const lane = this.#seeded.below(2);
      const number = this.#seeded.below(150);
      const id = `${lane}a${number.toString(16)}`.padStart(32, '0');
      const state = this.#next(id, this.#states.get(id), number % 10 === 0 ? 'other' : 'site');
      this.#states.set(id, state);
      this.lanes.owners[lane]?.put(state);
    }
  }

  #next(id: string, known: State | undefined, projectId: string): State {
    const seeded = this.#seeded;
    const firstMs = FROM_MS - 24 * HOUR_MS;
    // Whole minutes, so that many sessions begin at the same time.
    const beganMs = known?.startedAtMs ?? firstMs + seeded.below((TO_MS - firstMs) / 60_000) * 60_000;
    const startedAtMs = seeded.chance(0.2) ? beganMs - seeded.below(300) * 60_000 : beganMs;
    return {
      id,
      projectId,
      startedAtMs,
      endedAtMs: (known?.endedAtMs ?? beganMs) + seeded.below(90_000),
      screenViews: (known?.screenViews ?? 0) + seeded.below(2),
      deviceId: `d${id.slice(-4)}`,
      profileId: seeded.chance(0.3) ? `p${seeded.below(5)}` : (known?.profileId ?? ''),
      otherEvents: (known?.otherEvents ?? 0) + seeded.below(3),
      entryPath: known?.entryPath ?? `/in/${seeded.below(100)}`,
      exitPath: `/out/${seeded.below(1_000)}`,
      country: 'DE',
      language: seeded.one(['', 'de-DE', 'fr']),
      timezone: seeded.one(['', 'Europe/Berlin']),
      screen: seeded.one(['', '1920x1080']),
    };
  }

  /** The list of the span. Examines every session. */
  expected(isWanted: (state: State) => boolean = () => true): Partial<ListedSession>[] {
    return [...this.#states.values()]
      .filter(({ projectId, startedAtMs: atMs }) => projectId === 'site' && atMs >= FROM_MS && atMs < TO_MS)
      .filter(isWanted)
      .sort((a, b) => b.startedAtMs - a.startedAtMs || (a.id < b.id ? -1 : 1))
      .map(({ projectId: _site, startedAtMs, endedAtMs, otherEvents, ...columns }) => ({
        ...columns,
        startedAt: new Date(startedAtMs).toISOString(),
        endedAt: new Date(endedAtMs).toISOString(),
        duration: endedAtMs - startedAtMs,
        isBounce: columns.screenViews <= 1,
        events: otherEvents,
      }));
  }

  async seam(): Promise<Seam> {
    return seamOf(await this.lanes.hotView().rows(storedId('site')));
  }
}

let fixture: HistoryStore;
beforeEach(async () => {
  fixture = await startHistoryStore();
});
afterEach(async () => {
  await fixture.stop();
});

function ask(sessions: Sessions, query: string) {
  const scope = { site, zone, nowMs: TO_MS };
  const sources = { history: fixture.history, hot: sessions.lanes.hotView() };
  const dates = 'startDate=2026-05-03&endDate=2026-05-04';
  return answerSessionList(sources, scope, readParameters(`${dates}&${query}`, sessionListQuery));
}

test('law 4: the list holds every session once, in its current state, whatever lands or merges between the reads', async () => {
  const seed = Number(process.env.SEED ?? 4_321);
  const sessions = new Sessions(seed);
  const holds = async (seam: Seam, expected: readonly Partial<ListedSession>[]) => {
    const list = await listSessions(
      fixture.history,
      { site, nowMs: TO_MS },
      { ...EVERYTHING, span: SPAN, seam },
    );
    expect(list, `seed ${seed}`).toEqual(expected.map((session) => expect.objectContaining(session)));
    for (const session of list) expect(listedSession.strict().parse(session)).toEqual(session);
  };
  const views: Seam[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let cuts = 0; cuts < 2; cuts += 1) {
      sessions.change(150);
      for (const owner of sessions.lanes.owners) owner.cut();
    }
    sessions.change(60);
    const expected = sessions.expected();
    expect(expected.length).toBeGreaterThan(30);
    // Hot views from before, between and after the flushes. Each must stay right for ever.
    const seams = [await sessions.seam()];
    for (const owner of sessions.lanes.owners) {
      for (const flush of [...owner.pending]) {
        const landing = fixture.land(owner, flush);
        for (const seam of seams) await holds(seam, expected);
        await landing;
        for (const seam of seams) await holds(seam, expected);
        seams.push(await sessions.seam());
        owner.complete();
        seams.push(await sessions.seam());
      }
    }
    const merging = fixture.store.command('OPTIMIZE TABLE sessions FINAL');
    for (const seam of seams) await holds(seam, expected);
    await merging;
    for (const seam of seams) await holds(seam, expected);
    views.push(...seams);
  }
  for (const owner of sessions.lanes.owners) await fixture.land(owner, owner.cut());
  // The store may have replaced the states of a hot view long ago, by states that began before the span.
  for (const seam of views) await holds(seam, sessions.expected());
});

/** All pages, following the cursor of each. */
async function followed(sessions: Sessions, query: string): Promise<ListedSession[]> {
  const { next, schema } = sessionListInsight({
    history: fixture.history,
    hot: sessions.lanes.hotView(),
  });
  const found: ListedSession[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const pageQuery: string = `${query}&cursor=${cursor}`;
    const page = await ask(sessions, pageQuery);
    found.push(...page);
    const dates = 'startDate=2026-05-03&endDate=2026-05-04';
    cursor = next?.(readParameters(`${dates}&${pageQuery}`, schema), page);
  }
  return found;
}

test('the pages hold every session once and in order, while some are stored and have changed since', async () => {
  const sessions = new Sessions(9);
  sessions.change(400);
  for (const owner of sessions.lanes.owners) {
    await fixture.land(owner, owner.cut());
    owner.complete();
  }
  sessions.change(100);
  const expected = sessions.expected();
  const found: ListedSession[] = [];
  for (let cursor = 0; cursor <= expected.length; cursor += 7) {
    const page = await ask(sessions, `limit=7&cursor=${cursor}`);
    expect(page.length).toBe(Math.max(0, Math.min(7, expected.length - cursor)));
    found.push(...page);
  }
  expect(found).toEqual(expected.map((session) => expect.objectContaining(session)));
  expect(await followed(sessions, 'limit=31')).toEqual(found);
  expect(await followed(sessions, 'limit=17&profileId=p2')).toEqual(
    found.filter(({ profileId }) => profileId === 'p2'),
  );
  expect(sessionListAnswer.safeParse(found).success).toBe(true);
  expect((await ask(sessions, '')).map(({ id }) => id)).toEqual(expected.slice(0, 10).map(({ id }) => id));
});

test('a page of a long range counts the newest two hours first, then a day, and no older part than the page needs', async () => {
  const sessions = new Sessions(13);
  sessions.change(300);
  const expected = sessions.expected();
  const countedFrom: number[] = [];
  const recording = {
    ask: <Name extends StatementName>(statement: Statement<Name>, seam: Seam) => {
      if (statement.name === 'metrics-sessions') countedFrom.push(Number(statement.parameters.from));
      return fixture.history.ask(statement, seam);
    },
  } as typeof fixture.history;
  const seam = await sessions.seam();
  const span = { fromMs: TO_MS - 365 * 24 * HOUR_MS, toMs: TO_MS };
  const idsOf = async (rows: number) => {
    countedFrom.length = 0;
    const cursor = { kind: 'rows', rows } as const;
    const page = { ...EVERYTHING, limit: 20, cursor, span, seam };
    return (await listSessions(recording, { site, nowMs: TO_MS }, page)).map(({ id }) => id);
  };
  const ids = expected.map(({ id }) => id);
  const ago = (hours: number) => Math.floor(TO_MS / HOUR_MS - hours) * HOUR_MS;
  expect(await idsOf(0)).toEqual(ids.slice(0, 20));
  expect(countedFrom).toEqual([ago(2), ago(24)]);
  // Few of the sessions began on the day before the last two, and none earlier.
  expect(await idsOf(ids.length - 25)).toEqual(ids.slice(-25, -5));
  expect(countedFrom).toEqual([ago(2), ago(24), ago(12 * 24)]);
});

test('the sessions of a profile are those that currently have it', async () => {
  const sessions = new Sessions(11);
  sessions.change(500);
  for (const owner of sessions.lanes.owners) {
    await fixture.land(owner, owner.cut());
    owner.complete();
  }
  sessions.change(200);
  const ofProfile = sessions.expected(({ profileId }) => profileId === 'p2');
  expect(ofProfile.length).toBeGreaterThan(5);
  expect(await ask(sessions, 'profileId=p2&limit=1000')).toEqual(
    ofProfile.map((session) => expect.objectContaining(session)),
  );
  expect(await ask(sessions, 'profileId=p2&limit=3&cursor=2')).toEqual(
    ofProfile.slice(2, 5).map((session) => expect.objectContaining(session)),
  );
  expect(await ask(sessions, 'profileId=nobody')).toEqual([]);
});

test('the revenue of a session is in major units, by currency and in the currency of the site', async () => {
  await fixture.store.command(
    `INSERT INTO sessions (sign, version, partition, flushNumber, projectId, id, startedAt, endedAt, revenue) VALUES
       (1, 1, 1, 7, 'site', unhex({id:String}), '2026-05-04 10:00:00.000', '2026-05-04 10:00:01.500',
        map('JPY', 1500, 'EUR', 1234, 'USD', 0, 'GBP', -50))`,
    { id: 'ab'.repeat(16) },
  );
  const list = await ask(new Sessions(1), '');
  expect(list).toMatchObject([
    {
      id: 'ab'.repeat(16),
      duration: 1_500,
      isBounce: true,
      revenue: 12.34,
      revenueByCurrency: { EUR: 12.34, GBP: -0.5, JPY: 1_500 },
    },
  ]);
});
