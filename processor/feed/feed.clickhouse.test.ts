import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'nats';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { CONTROL_BUCKET, feedSubjectOf, siteKeyOf, siteSchema } from '../../infra/accounts/accounts.ts';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { must } from '../../infra/assert.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import { CRASH_POINTS, type CrashPoint } from '../../infra/process/crashpoint.ts';
import { projectRoot } from '../../infra/root.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import { type Event, subjectOf } from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { EXPORT_GROUPS, EXPORT_SETTINGS, exportColumns, exportSources } from '../event-export.ts';
import { answering, type LaneStart, type LaneWorld, startLaneWorld } from '../testing/lane-world.ts';
import { messageOf } from '../testing/run.ts';
import type { FedEvent } from './fed-event.ts';
import { fedEventsIn } from './feed-removal.ts';
import { FEED_STREAM } from './feed-stream.ts';

const LANE = 0;

let world: LaneWorld;
let control: KeyedBytes;
let published = 0;

beforeAll(async () => {
  world = await startLaneWorld('feed_test');
  control = await world.bus.keyed(CONTROL_BUCKET);
  await world.open(LANE);
});
afterAll(() => world.stop());
afterEach(() => world.stopLanes());

const start = (instance: string, more: Partial<LaneStart> = {}) =>
  world.start({ lane: LANE, instance, ...more });

/** Writes a site's record, and waits until its feed is on or off. */
async function putSite(
  id: string,
  feed: boolean,
  storedAs = id,
  deletion: object | null = null,
): Promise<void> {
  const at = new Date().toISOString();
  const site = siteSchema.parse({
    id,
    storedId: storedAs,
    teamId: 'team',
    name: id,
    createdAt: at,
    updatedAt: at,
    feed: feed || deletion !== null,
    deletion,
  });
  const before = await control.get(siteKeyOf(id));
  await control.put(siteKeyOf(id), encodeJson(site), before?.revision ?? 0);
  await until('the site', () => world.feeds.sites.has(storedId(storedAs)) === feed || undefined);
}

/** Some visits, with everything that an event can have. */
function eventOf(projectId: StoredId, index: number): Event {
  const nowMs = Date.now();
  const deviceId = (index % 5).toString(16).repeat(32);
  return plainEvent({
    projectId,
    deviceId,
    sessionId: deviceId,
    occurredAtMs: nowMs - (index % 3) * 1_000,
    receivedAtMs: nowMs,
    path: `/größe/${index}`,
    title: 'a\u0001b"\\/',
    query: 'q=1',
    eventId: `${projectId}-${index}`,
    ...(index % 4 === 0 ? { profileId: `päule ${index % 8}` } : {}),
    ...(index % 6 === 1
      ? { name: 'revenue', revenue: BigInt(index * 111), currency: 'JPY', orderId: 'A' }
      : {}),
    ...(index % 6 === 2 ? { name: 'revenue', revenue: BigInt(-index), currency: 'EUR' } : {}),
    groups: index % 2 === 0 ? ['g 1', ''] : [],
    properties: ['plan.name', `№ ${index}`, 'empty', ''],
    source: { ...plainEvent().source, referrer: 'https://a.example/', utmSource: 'news', channel: 'Email' },
    environment: {
      ...plainEvent().environment,
      city: 'Köln',
      longitude: 6.95,
      latitude: index % 2 === 0 ? 50.93 : 0,
    },
    sdkName: 'node',
  });
}

async function publish(projectId: StoredId, from: number, count: number): Promise<void> {
  for (let index = from; index < from + count; index += 1) {
    published += 1;
    await world.bus.publish(subjectOf(LANE), messageOf([eventOf(projectId, index)], published), 5_000);
  }
}

async function fedTo(site: StoredId): Promise<FedEvent[]> {
  const events: FedEvent[] = [];
  const messages = world.bus.messagesOf(FEED_STREAM, feedSubjectOf(site, '>'));
  for await (const { bytes } of messages) events.push(...fedEventsIn(bytes));
  return events;
}

/** The rows of the site in the store, as an export has them, by id. */
async function exported(projectId: string, site: StoredId): Promise<unknown[]> {
  return world.store.query(
    `SELECT ${exportColumns('json', EXPORT_GROUPS)}
     FROM (SELECT ${exportSources(EXPORT_GROUPS).join(', ')} FROM events WHERE projectId = {site:String}) AS row
     ORDER BY id`,
    { projectId, site },
    EXPORT_SETTINGS,
  );
}

/** Expects the feed to contain the stored events, once, and in order; returns their number. */
async function expectFeedIsStored(projectId: string, site = storedId(projectId)): Promise<number> {
  const fed = await fedTo(site);
  const byId = [...fed].sort((a, b) => (a.id < b.id ? -1 : 1));
  expect(byId.map(({ sequence: _, ...event }) => event)).toEqual(await exported(projectId, site));
  const places = fed.map(({ sequence: [lane, flushNumber, index] }) => {
    expect(lane).toBe(LANE);
    return flushNumber * 1_000_000 + index;
  });
  expect(places).toEqual([...new Set(places)].sort((a, b) => a - b));
  return fed.length;
}

/** Resolves when the store has this many events of the site, without the synthetic ones. */
async function stored(site: StoredId, events: number): Promise<void> {
  await until(`${events} events of ${site}`, async () => {
    const rows = await world.store.query<{ n: number }>(
      "SELECT count() AS n FROM events WHERE projectId = {site:String} AND name NOT LIKE 'session_%'",
      { site },
    );
    return Number(rows[0]?.n) >= events ? true : undefined;
  });
}

let flushes = 0;

/** Resolves when the current flush is complete: the next one is in the store. */
async function flushOver(): Promise<void> {
  flushes += 1;
  await publish(storedId('unfed'), flushes, 1);
  await stored(storedId('unfed'), flushes);
}

test('a feed has what the export has, from when it is switched on until it is switched off', async () => {
  await putSite('unfed', false);
  await putSite('switched', false);
  await putSite('called', true, 'called~2');
  const lane = await start('one');
  await answering(lane);
  await publish(storedId('called~2'), 0, 12);
  await publish(storedId('switched'), 0, 5);
  await stored(storedId('switched'), 5);
  await flushOver();
  await putSite('switched', true);
  await publish(storedId('switched'), 5, 5);
  await stored(storedId('switched'), 10);
  await flushOver();
  await putSite('switched', false);
  await publish(storedId('switched'), 10, 5);
  await stored(storedId('switched'), 15);
  await lane.stop();
  expect(await fedTo(storedId('unfed'))).toEqual([]);
  expect((await fedTo(storedId('switched'))).map(({ path }) => path)).toEqual(
    [5, 6, 7, 8, 9].map((index) => `/größe/${index}`),
  );
  expect(await fedTo(storedId('called'))).toEqual([]);
  expect(await expectFeedIsStored('called', storedId('called~2'))).toBe(12 + 5);
});

test('a feed goes on while the deletion of its site can be undone, and a restored site misses no event', async () => {
  const at = new Date().toISOString();
  const waiting = { status: 'waiting', requestedAt: at, purgeAt: at };
  await putSite('restored', true);
  const lane = await start('undone');
  await answering(lane);
  await publish(storedId('restored'), 0, 5);
  await stored(storedId('restored'), 5);
  // The last events were accepted before the deletion, and reach the store after it.
  await putSite('restored', true, 'restored', waiting);
  await publish(storedId('restored'), 5, 5);
  await stored(storedId('restored'), 10);
  await putSite('restored', true);
  await publish(storedId('restored'), 10, 5);
  await stored(storedId('restored'), 15);
  await flushOver();
  await putSite('restored', false, 'restored', { ...waiting, isFinal: true });
  await lane.stop();
  expect(await expectFeedIsStored('restored')).toBe(15 + 5);
});

const points = CRASH_POINTS.filter((point) => point.startsWith('flush:'));

/** The visits of the crash point that are deaths: in a flush, and in the same or the next one after a restart. */
const DEATHS = [2, 3, 5];

test.each(points)('a lane that dies at %s again and again feeds every stored event once', async (point) => {
  const site = `dies-${point.replace(/\W/g, '-')}`;
  await putSite(site, true);
  let visits = 0;
  const lane = await start('two', {
    crashPoint: (reached: CrashPoint) => {
      if (reached !== point) return;
      visits += 1;
      if (DEATHS.includes(visits)) throw new Error(`dead at ${point}`);
    },
  });
  let events = 0;
  for (; visits <= Math.max(...DEATHS); events += 3) {
    await publish(storedId(site), events, 3);
    await stored(storedId(site), events + 3);
  }
  expect(lane.metrics.failures.value).toBe(DEATHS.length);
  await until('the last one', async () =>
    (await fedTo(storedId(site))).some(({ path }) => path === `/größe/${events - 1}`) ? true : undefined,
  );
  await lane.stop();
  expect(await expectFeedIsStored(site)).toBe(events + 5);
});

test('two owners that take a lane from each other feed every stored event once', async () => {
  await putSite('contended', true);
  // Both have the same name, so that neither waits for the other's lease.
  const lanes = [await start('same'), await start('same')];
  for (let index = 0; index < 60; index += 1) await publish(storedId('contended'), index, 1);
  await until('both to lose it', () => lanes.every(({ metrics }) => metrics.fencings.value > 0) || undefined);
  await lanes[0]?.stop();
  await stored(storedId('contended'), 60);
  await until('the last one', async () =>
    (await fedTo(storedId('contended'))).filter(({ name }) => !name.startsWith('session_')).length >= 60
      ? true
      : undefined,
  );
  await lanes[1]?.stop();
  expect(await expectFeedIsStored('contended')).toBe(60 + 5);
});

/** The example in the README of this folder for programs that follow a feed. */
function readmeConsumer(): string {
  const readme = readFileSync(join(projectRoot, 'processor/feed/README.md'), 'utf8');
  return must(/```js\n(.*?)```/s.exec(readme)?.[1], 'code in it');
}

test('the ten lines of the README follow the feed of a site, and resume where they stopped', async () => {
  await putSite('demo', true);
  const lane = await start('three');
  await answering(lane);
  const code = readmeConsumer();
  expect(code.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('import'))).toHaveLength(
    10,
  );
  const connection = await connect({ servers: new URL(world.busUrl).host });
  const manager = await connection.jetstreamManager();
  let said = '';
  const run = async (last: string) => {
    const program = spawn(process.execPath, ['--input-type=module', '-'], {
      cwd: projectRoot,
      env: { ...process.env, NATS_URL: world.busUrl },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    program.stdin.end(code);
    program.stdout.on('data', (piece: Buffer) => {
      said += piece.toString();
    });
    await until(`the program to say ${last}`, () => said.includes(`${last}'`) || undefined);
    await until('everything to be acknowledged', async () => {
      const { num_pending, num_ack_pending } = await manager.consumers.info(FEED_STREAM, 'warehouse');
      return num_pending + num_ack_pending === 0 ? true : undefined;
    });
    const ended = new Promise((resolve) => program.once('exit', resolve));
    program.kill();
    await ended;
  };
  await publish(storedId('demo'), 0, 10);
  await run('/größe/9');
  await publish(storedId('demo'), 10, 10);
  await run('/größe/19');
  await connection.close();
  await lane.stop();
  const paths = [...said.matchAll(/path: '\/größe\/(\d+)'/g)].map(([, index]) => Number(index));
  const starts = [...said.matchAll(/name: 'session_start'/g)];
  expect(starts).toHaveLength(5);
  expect(paths).toHaveLength(25);
  expect([...new Set(paths)].sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index));
});
