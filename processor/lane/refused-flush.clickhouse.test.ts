import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { CONTROL_BUCKET, feedSubjectOf, siteKeyOf, siteSchema } from '../../infra/accounts/accounts.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { CRASH_POINTS } from '../../infra/process/crashpoint.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import { type Event, subjectOf } from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { fedEventsIn } from '../feed/feed-removal.ts';
import { FEED_STREAM } from '../feed/feed-stream.ts';
import { lettersOn, pathsIn, runDeadLetters } from '../testing/dead-letters.ts';
import {
  answering,
  type LaneStart,
  type LaneWorld,
  type RunningLane,
  startLaneWorld,
} from '../testing/lane-world.ts';
import { messageOf } from '../testing/run.ts';

const LANE = 0;
let world: LaneWorld;
let published = 0;

beforeAll(async () => {
  world = await startLaneWorld('refused_flush_test');
  await world.open(LANE);
  const control = await world.bus.keyed(CONTROL_BUCKET);
  const at = new Date().toISOString();
  for (const id of ['shop', 'fed-hostile']) {
    const names = { id, storedId: id, teamId: 'team', name: id };
    const site = siteSchema.parse({ ...names, createdAt: at, updatedAt: at, feed: true, deletion: null });
    await control.put(siteKeyOf(id), encodeJson(site), 0);
  }
  await until('the feeds', () => world.feeds.sites.size === 2 || undefined);
});
afterEach(async () => {
  await world.stopLanes();
  for (const table of ['events', 'sessions', 'late_hours'])
    await world.store.command(`ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS refusal`);
});
afterAll(() => world.stop());

/** From now on the store refuses rows of the table for which the condition does not hold. */
async function refuse(table: string, unless: string): Promise<void> {
  await world.store.command(`ALTER TABLE ${table} ADD CONSTRAINT refusal CHECK ${unless}`);
}

const accept = (table: string) => world.store.command(`ALTER TABLE ${table} DROP CONSTRAINT refusal`);

const start = (more: Partial<LaneStart> = {}) =>
  world.start({ lane: LANE, instance: 'one', isAlone: true, ...more });

function event(projectId: string, path: string, more: Partial<Event> = {}): Event {
  const nowMs = Date.now();
  const id = createHash('sha256').update(`${projectId}${path}`).digest('hex').slice(0, 32);
  const times = { occurredAtMs: nowMs, receivedAtMs: nowMs };
  return plainEvent({ projectId: storedId(projectId), path, deviceId: id, sessionId: id, ...times, ...more });
}

async function publish(...events: readonly Event[]): Promise<number> {
  published += 1;
  return world.bus.publish(subjectOf(LANE), messageOf(events, published), 5_000);
}

/** Screen views of a page: in rows of events, and in sessions. */
async function stored(path: string): Promise<string> {
  const rows = await world.store.query<{ found: string }>(
    `SELECT concat(toString((SELECT count() FROM events WHERE name = 'screen_view' AND path = {path:String})), ' ',
       toString((SELECT sum(sign * screenViews) FROM sessions WHERE entryPath = {path:String}))) AS found`,
    { path },
  );
  return rows[0]?.found ?? '';
}

async function storedOnce(...paths: readonly string[]): Promise<void> {
  for (const path of paths)
    await until(`${path}, once`, async () => ((await stored(path)) === '1 1' ? true : undefined)).catch(
      async () => expect([path, await stored(path)]).toEqual([path, '1 1']),
    );
}

/** The pages that wait in dead letters; a restart may repeat a letter, which a replay counts once. */
async function pathsSetAside(): Promise<ReadonlySet<string>> {
  return new Set((await lettersOn(world.bus)).flatMap(pathsIn));
}

/** The pages of screen views in the feed of a site. */
async function fed(projectId: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { bytes } of world.bus.messagesOf(FEED_STREAM, feedSubjectOf(storedId(projectId), '>')))
    for (const { name, path } of fedEventsIn(bytes)) if (name === 'screen_view') paths.push(String(path));
  return paths;
}

async function countedAside(projectId: string): Promise<number> {
  const rows = await world.store.query<{ count: number }>(
    `SELECT sum(count) AS count FROM (SELECT argMax(count, version) AS count FROM tallies
     WHERE projectId = {projectId:String} AND reason = 'set-aside:events' GROUP BY projectId, id)`,
    { projectId },
  );
  return Number(rows[0]?.count);
}

function expectNeverStopped({ metrics, supervisor }: RunningLane): void {
  expect([metrics.failures.value, supervisor.isFailing]).toEqual([0, false]);
}

async function expectNothingLeftBehind(): Promise<void> {
  expect(await world.store.query("SELECT name FROM system.tables WHERE name LIKE '%refused%'")).toEqual([]);
  // The marker of each flush replaces the one before.
  const markers = await world.store.query(
    "SELECT version, sum(sign) AS signs FROM sessions WHERE projectId = '' GROUP BY version HAVING signs != 0",
  );
  expect(markers).toHaveLength(1);
}

test.each(['events', 'sessions', 'late_hours'])(
  'a site whose rows of %s the store refuses is set aside, and the lane continues',
  async (table) => {
    const hostile = `hostile-${table}`;
    const at = (site: string, path: string) =>
      event(site, `/${table}${path}`, { occurredAtMs: Date.now() - 2 * DAY_MS });
    const lane = await start();
    await answering(lane);
    await refuse(table, `projectId != '${hostile}'`);
    await publish(at('shop', '/1'), at(hostile, '/bad-1'), at('other', '/2'));
    await publish(at(hostile, '/bad-2'), at('shop', '/3'));
    await storedOnce(`/${table}/1`, `/${table}/2`, `/${table}/3`);
    await publish(at('shop', '/4'));
    await storedOnce(`/${table}/4`);
    const bad = [`/${table}/bad-1`, `/${table}/bad-2`];
    expect(await Promise.all(bad.map(stored))).toEqual(['0 0', '0 0']);
    expect([...(await pathsSetAside())].sort()).toEqual(bad);
    for (const { reason, stream } of await lettersOn(world.bus)) {
      expect(stream).toBe('events');
      expect(reason).toBe(`the store refuses its rows of ${table} (error 469)`);
    }
    expectNeverStopped(lane);
    expect(lane.metrics.siteFailures.value).toBeGreaterThan(0);
    expect(lane.metrics.setAside.value).toBeGreaterThanOrEqual(2);
    await until('the count that the site sees', async () =>
      (await countedAside(hostile)) === 2 ? true : undefined,
    );
    await lane.stop();

    // The next owner leaves out the same; rows that the store takes by now are put back, once.
    await accept(table);
    const next = await start();
    await answering(next);
    // If each bad message was in a flush of its own, these were two failures, and the next 100 messages are left out as well.
    for (let count = 0; count < 100; count += 1) await publish(event('shop', '/between'));
    expect(await runDeadLetters(world.busUrl, 'replay')).toContain(', 0 left');
    await storedOnce(...bad);
    expect(await runDeadLetters(world.busUrl, 'replay')).toContain('0 replayed, 0 left');
    await next.stop();
    await storedOnce(...bad, `/${table}/1`, `/${table}/2`, `/${table}/3`, `/${table}/4`);
    const ofTable = (await fed('shop')).filter((path) => path.startsWith(`/${table}/`));
    expect(ofTable.sort()).toEqual([`/${table}/1`, `/${table}/3`, `/${table}/4`]);
    await expectNothingLeftBehind();
  },
);

/** The gaps between the durable steps, until the messages of the refused flush are in the store. */
const DEADLY = CRASH_POINTS.filter((point) => /^(refusal|flush):/.test(point));

test.each(DEADLY)(
  'each event counts once or waits in dead letters when the lane dies at %s',
  async (deadly) => {
    const name = deadly.replace(/\W/g, '-');
    const hostile = `hostile-${name}`;
    let isRefused = false;
    let hasDied = false;
    const lane = await start({
      crashPoint: (point) => {
        // In the flush that is refused, or behind the refusal where that flush does not get there.
        isRefused ||= point === 'refusal:after-search';
        if (hasDied || point !== deadly || !isRefused) return;
        hasDied = true;
        throw new Error(`dead at ${point}`);
      },
    });
    await answering(lane);
    await refuse('sessions', `projectId != '${hostile}'`);
    await publish(event('shop', `/${name}/1`), event(hostile, `/${name}/bad`));
    await storedOnce(`/${name}/1`);
    await publish(event('shop', `/${name}/2`));
    await storedOnce(`/${name}/2`);
    await until('its death', () => hasDied || undefined);
    expect(lane.metrics.failures.value).toBe(1);
    expect(await stored(`/${name}/bad`)).toBe('0 0');
    expect([...(await pathsSetAside())]).toEqual([`/${name}/bad`]);
    await accept('sessions');
    await runDeadLetters(world.busUrl, 'replay');
    await storedOnce(`/${name}/bad`);
    await lane.stop();
    await storedOnce(`/${name}/1`, `/${name}/2`, `/${name}/bad`);
    const ofName = (await fed('shop')).filter((path) => path.startsWith(`/${name}/`));
    expect(ofName.sort()).toEqual([`/${name}/1`, `/${name}/2`]);
    await expectNothingLeftBehind();
  },
);

test('a site that is set aside after its feed is in it again with its replay', async () => {
  const lane = await start();
  await answering(lane);
  await refuse('sessions', "projectId != 'fed-hostile'");
  await publish(event('fed-hostile', '/fed'), event('shop', '/fed-beside'));
  await storedOnce('/fed-beside');
  await accept('sessions');
  await runDeadLetters(world.busUrl, 'replay');
  await storedOnce('/fed');
  expect(await fed('fed-hostile')).toEqual(['/fed', '/fed']);
  expectNeverStopped(lane);
});

test('one search finds all refused sites of a flush, on whichever thread their rows are', async () => {
  let searched = 0;
  const lane = await start({
    threads: 2,
    beforeCall: (_, call) => {
      if (call === 'insertRowBinary') searched += 1;
    },
  });
  await answering(lane);
  await refuse('events', "NOT startsWith(projectId, 'many-bad-')");
  const numbers = Array.from({ length: 32 }, (_, index) => index);
  const isBad = (number: number) => number % 12 === 5;
  const siteOf = (number: number) => `many-${isBad(number) ? 'bad-' : ''}${number}`;
  const views = [1, 2, 3].flatMap((view) =>
    numbers.map((number) => event(siteOf(number), `/many/${number}/${view}`)),
  );
  await publish(...views);
  const pathsOf = (bad: boolean) => views.filter(({ projectId }) => projectId.includes('bad') === bad);
  await storedOnce(...pathsOf(false).map(({ path }) => path));
  const refused = pathsOf(true).map(({ path }) => path);
  expect([...(await pathsSetAside())].sort()).toEqual(refused.sort());
  expect(lane.metrics.siteFailures.value).toBe(1);
  // Halving takes 2 inserts a level for each of 3 sites, one for the whole and one for sessions; tallies are flushed beside.
  expect(searched).toBeLessThan(2 * 5 * 3 + 2 + 10);
  expectNeverStopped(lane);
  await accept('events');
  await runDeadLetters(world.busUrl, 'replay');
  await storedOnce(...refused);
});

test('the only site of a flush is set aside if the store takes other rows', async () => {
  const lane = await start();
  await answering(lane);
  await refuse('events', "projectId != 'lonely'");
  await publish(event('lonely', '/lonely'));
  await until('its letter', async () => (await pathsSetAside()).has('/lonely') || undefined);
  await publish(event('shop', '/beside-lonely'));
  await storedOnce('/beside-lonely');
  expectNeverStopped(lane);
  await accept('events');
  await runDeadLetters(world.busUrl, 'replay');
  await storedOnce('/lonely');
});

test.each([
  ['all sites are refused', 'events', "projectId = ''", ['one', 'two']],
  ['nothing is taken', 'events', 'partition > 1000', ['one']],
  ['not even its marker is taken', 'sessions', 'partition > 1000', ['one', 'two']],
])('a flush of which %s sets nothing aside and stops the lane loudly', async (_, table, unless, sites) => {
  const name = `${table} ${unless}`;
  const before = (await lettersOn(world.bus)).length;
  const lane = await start();
  await answering(lane);
  await refuse(table, unless);
  await publish(...sites.map((site) => event(`all-${site}`, `/all/${name}/${site}`)));
  await until('the lane to say so', () => lane.supervisor.isFailing || undefined);
  expect([lane.metrics.siteFailures.value, (await lettersOn(world.bus)).length]).toEqual([0, before]);
  await accept(table);
  await storedOnce(...sites.map((site) => `/all/${name}/${site}`));
  await until('the lane to recover', () => !lane.supervisor.isFailing || undefined);
  await lane.stop();
  await expectNothingLeftBehind();
});

test('a site whose sessions end in rows that the store refuses does not stop the lane', async () => {
  const lane = await start();
  await answering(lane);
  await publish(event('ending', '/ending'), event('shop', '/beside-ending'));
  await storedOnce('/ending', '/beside-ending');
  await refuse('events', "projectId != 'ending'");
  // The clock of the lane moves past the end of all sessions.
  const laterMs = Date.now() + DAY_MS;
  const later = { occurredAtMs: laterMs, receivedAtMs: laterMs };
  await publish(event('shop', '/behind-ending', later));
  await storedOnce('/behind-ending');
  expectNeverStopped(lane);
  expect(await pathsSetAside()).not.toContain('/ending');
  await storedOnce('/ending');
});
