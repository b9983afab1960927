import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  CONTROL_BUCKET,
  clientKeyOf,
  type Site,
  siteKeyOf,
  siteSchema,
} from '../../infra/accounts/accounts.ts';
import type { StoredId } from '../../infra/accounts/ids.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { Metrics } from '../../infra/metrics.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { PerShard } from '../../infra/store/store-shards.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import { entityKeyOf } from '../../ingest/entity-lookup.ts';
import {
  ALIASES_BUCKET,
  aliasKeyOf,
  type EntityUpdate,
  encodeAlias,
  encodeEntityUpdate,
  entitySubjectOf,
} from '../../ingest/entity-update.ts';
import {
  beginMessage,
  type Event,
  endMessage,
  laneOf,
  routingKeyOf,
  streamOf,
  subjectOf,
} from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { DEAD_LETTERS_STREAM } from '../dead-letters/dead-letter.ts';
import { group, identify, orderOf } from '../entities/testing/updates.ts';
import { type Erasure, erasureKeyOf, erasureSchema, profileDigest } from '../erasure.ts';
import { FEED_STREAM } from '../feed/feed-stream.ts';
import { LANES_BUCKET } from '../lane/lane-record.ts';
import { testLeader } from '../leader-job/testing/test-leader.ts';
import { RollupJob } from '../rollups/rollup-job.ts';
import { createRollupMetrics } from '../rollups/rollup-metrics.ts';
import { answering, type LaneWorld, startLaneWorld } from '../testing/lane-world.ts';
import { messageOf } from '../testing/run.ts';
import { createPurgeMetrics } from './purge-metrics.ts';
import { Purger, type PurgerOptions } from './purger.ts';
import { rollupsOfSite } from './testing/site-rollups.ts';
import { sessionsUnlikeTheirEvents, thinnedSessions } from './testing/thinned.ts';
import { tieNames } from './testing/tied-names.ts';
import { tracesOf } from './testing/traces.ts';

const LANES = 2;
const SPREAD = { lanes: LANES, storeShards: 1 };
const NOW_MS = Date.now();
const FIRST_MS = Math.floor(NOW_MS / DAY_MS) * DAY_MS - 3 * DAY_MS;

let world: LaneWorld;
let control: KeyedBytes;
let aliases: KeyedBytes;
let published = 0;
const running: Purger[] = [];

beforeAll(async () => {
  world = await startLaneWorld('purge_test');
  control = await world.bus.keyed(CONTROL_BUCKET);
  aliases = await world.bus.keyed(ALIASES_BUCKET);
  for (let lane = 0; lane < LANES; lane += 1) await world.open(lane);
  for (let lane = 0; lane < LANES; lane += 1) await answering(await world.start({ lane, instance: 'one' }));
  await passTime();
  await stored('clock', 24);
});

afterEach(async () => {
  for (const purger of running.splice(0)) await purger.stop();
});
afterAll(() => world.stop());

/** A purger as the processor runs it, with dependencies that a test may replace. */
async function startPurger(changed: Partial<PurgerOptions> = {}): Promise<Purger> {
  const laneRecords = await world.bus.keyed(LANES_BUCKET);
  const purger = await Purger.start({
    bus: world.bus,
    stores: new PerShard([world.store]),
    ...{ laneRecords, control, aliases, lanes: LANES, nameOf: (lane: number) => lane },
    rollups: new PerShard([await rollupJob()]),
    metrics: createPurgeMetrics(new Metrics()),
    markerAgeMs: 200,
    ...testLeader('purge'),
    ...changed,
  });
  running.push(purger);
  return purger;
}

async function rollupJob(): Promise<RollupJob> {
  return new RollupJob({
    store: world.store,
    laneRecords: await world.bus.keyed(LANES_BUCKET),
    lanes: LANES,
    intervalMs: 1_000,
    metrics: createRollupMetrics(new Metrics()),
    ...testLeader('rollup'),
  });
}

interface PurgedVisit {
  readonly projectId: StoredId;
  readonly device: string;
  /** Since the first hour of the test. */
  readonly hours: number;
  readonly profileId?: string;
}

/** A visit of three events a minute apart; the last two name the person. */
async function visit({ projectId, device, hours, profileId = '' }: PurgedVisit): Promise<void> {
  const deviceId = Buffer.from(device).toString('hex').padEnd(32, '0');
  const startMs = FIRST_MS + hours * HOUR_MS;
  const base: Partial<Event> = {
    projectId,
    deviceId,
    sessionId: `${Math.floor(hours * 10)}`.padStart(6, '0') + deviceId.slice(0, 26),
    path: `/of-${projectId}`,
  };
  for (const [index, name] of ['screen_view', 'screen_view', 'signup'].entries()) {
    const occurredAtMs = startMs + index * 60_000;
    const event = plainEvent({
      ...base,
      name,
      occurredAtMs,
      receivedAtMs: occurredAtMs,
      eventId: `${projectId}-${device}-${hours}-${index}`,
      profileId: index === 0 ? '' : profileId,
      title: index === 0 ? '' : `seen by ${profileId}`,
    });
    published += 1;
    const lane = laneOf(projectId, routingKeyOf(event), SPREAD);
    await world.bus.publish(subjectOf(lane), messageOf([event], published), 5_000);
  }
}

async function update(one: EntityUpdate, kind: 'profile' | 'group' | 'order'): Promise<void> {
  published += 1;
  const writer = new RowBinaryWriter(1_048_576);
  beginMessage(writer, { publisherId: 8n, publisherSequence: published, sentAtMs: NOW_MS });
  encodeEntityUpdate(writer, one);
  endMessage(writer, 1);
  const lane = laneOf(one.projectId, entityKeyOf(kind, one.id), SPREAD);
  await world.bus.publish(entitySubjectOf(lane), writer.take(), 5_000);
}

/** An order with the given event. */
const placeOrder = (id: string, event: Partial<Event> & { readonly projectId: StoredId }) =>
  update(orderOf(id, { occurredAtMs: FIRST_MS + HOUR_MS, ...event }, LANES), 'order');

/** Moves the clocks of all lanes to now, by visits to another site: everything before is finalized then. */
async function passTime(): Promise<void> {
  const projectId = storedId('clock');
  for (let device = 0; device < 8; device += 1)
    await visit({ projectId, device: `c${device}`, hours: (NOW_MS - FIRST_MS) / HOUR_MS - 0.1 });
}

async function rowsOf(table: string, projectId: string): Promise<number> {
  const sql = `SELECT count() AS rows FROM ${table} WHERE projectId = {projectId:String}`;
  const rows = await world.store.query<{ rows: number }>(sql, { projectId });
  return rows[0]?.rows ?? 0;
}

/** Resolves when the store has this many events of a site, without the synthetic ones. */
async function stored(projectId: string, events: number): Promise<void> {
  await until(`${events} events of ${projectId}`, async () => {
    const rows = await world.store.query<{ rows: number }>(
      "SELECT count() AS rows FROM events WHERE projectId = {projectId:String} AND name NOT LIKE 'session_%'",
      { projectId },
    );
    return rows[0]?.rows === events ? true : undefined;
  });
}

async function putSite(fields: Partial<Site> & { readonly id: string }): Promise<void> {
  const at = new Date(NOW_MS - 60_000).toISOString();
  const site = siteSchema.parse({ teamId: 'team', name: fields.id, createdAt: at, updatedAt: at, ...fields });
  const before = await control.get(siteKeyOf(site.id));
  await control.put(siteKeyOf(site.id), encodeJson(site), before?.revision ?? 0);
  if (site.feed) await until('its feed', () => world.feeds.sites.has(storedId(site.id)) || undefined);
}

function deleted(): Site['deletion'] {
  const at = new Date(NOW_MS - 60_000).toISOString();
  const none = { startedAt: null, finishedAt: null, step: '', rowsRemoved: {} };
  return { status: 'waiting', requestedAt: at, purgeAt: at, ...none };
}

async function siteOf(id: string): Promise<Site> {
  const entry = await control.get(siteKeyOf(id));
  return siteSchema.parse(JSON.parse(Buffer.from(entry?.bytes ?? '').toString('utf8')));
}

function purged(id: string): Promise<Site> {
  return until(`${id} to be purged`, async () => {
    const site = await siteOf(id);
    return site.deletion?.status === 'purged' ? site : undefined;
  });
}

/** A site with something in every table, bucket and stream that holds data of sites. */
async function fill(projectId: StoredId): Promise<void> {
  for (const hours of [1, 2, 30]) {
    await visit({ projectId, device: 'a', hours, profileId: `person-of-${projectId}` });
    await visit({ projectId, device: 'b', hours });
  }
  await update(
    identify({ projectId, id: `person-of-${projectId}`, email: `x@${projectId}.example` }),
    'profile',
  );
  await update(group({ projectId, id: `group-of-${projectId}` }), 'group');
  await placeOrder(`order-of-${projectId}`, { projectId, occurredAtMs: FIRST_MS });
  for (const kind of ['reference', 'dashboard', 'report', 'segment', 'goal', 'integration'])
    await control.put(`${kind}.${randomUUID()}`, encodeJson({ projectId, name: `of ${projectId}` }), 0);
  const searched = { projectId, storedId: projectId, siteUrl: `sc-domain:${projectId}.example`, sealed: 'x' };
  await control.put(`gsc.${projectId}`, encodeJson(searched), 0);
  await world.store.command(
    `INSERT INTO search_console (projectId, date, query, page, clicks)
     VALUES ({projectId:String}, '2026-03-01', 'shoes', '/', 1), ({projectId:String}, '2026-03-02', 'shoes', '/', 2)`,
    { projectId },
  );
  const at = new Date(NOW_MS).toISOString();
  const client = { name: `of ${projectId}`, type: 'read', projectId, teamId: 'team', secretHash: 'none' };
  const id = randomUUID();
  await control.put(clientKeyOf(id), encodeJson({ ...client, id, createdAt: at, updatedAt: at }), 0);
  // One that can be read, and one without a version.
  const names = { projectId, alias: `nick-of-${projectId}`, profileId: `person-of-${projectId}` };
  await aliases.put(aliasKeyOf(names), encodeAlias({ ...names, verified: true, createdAt: at }), 0);
  await aliases.put(aliasKeyOf({ ...names, alias: `name-of-${projectId}` }), encodeJson(names), 0);
  const broken = messageOf([plainEvent({ projectId })], 1);
  await world.bus.publish(subjectOf(0), Buffer.concat([broken, Buffer.of(1)]), 5_000);
  // The order's revenue is one more event.
  await stored(projectId, 19);
  await until('the entities', async () => ((await rowsOf('orders', projectId)) > 0 ? true : undefined));
}

function traces(texts: readonly string[]) {
  return tracesOf({ store: world.store, busUrl: world.busUrl }, texts);
}

test('a deleted site leaves nothing but its deletion record, and its neighbour loses nothing', async () => {
  await putSite({ id: 'gone', feed: true });
  await putSite({ id: 'stays', feed: true });
  await fill(storedId('gone'));
  await fill(storedId('stays'));
  const job = await rollupJob();
  await until('rollups of both sites', async () => {
    await job.pass();
    return (await rowsOf('daily_pages', 'gone')) * (await rowsOf('daily_pages', 'stays')) > 0
      ? true
      : undefined;
  });
  await until('a dead letter of each', async () =>
    (await traces(['stays'])).some(({ location }) => location === DEAD_LETTERS_STREAM) ? true : undefined,
  );
  // An unreadable message is trimmed with the flush after it.
  await passTime();
  for (let lane = 0; lane < LANES; lane += 1)
    await until('the bus to trim what is flushed', async () => {
      const { first, last } = await world.bus.streamBounds(streamOf(lane));
      return first > last || undefined;
    });
  const locationsOf = async (text: string) =>
    [...new Set((await traces([text])).map(({ location }) => location))].sort();
  const before = (await traces(['stays'])).map(({ location, text }) => `${location} ${text}`).sort();
  expect((await locationsOf('gone')).length).toBeGreaterThan(14);
  expect(await locationsOf('gone')).toContain(FEED_STREAM);
  await putSite({ id: 'gone', cors: ['https://gone.example'], deletion: deleted() });

  await startPurger();
  const { deletion } = await purged('gone');
  expect(deletion).toMatchObject({ step: '', finishedAt: expect.any(String), startedAt: expect.any(String) });
  expect(deletion?.rowsRemoved).toMatchObject({
    orders: 1,
    groups: 1,
    profiles: 1,
    daily_pages: expect.any(Number),
    search_console: 2,
  });
  expect(deletion?.rowsRemoved.events).toBeGreaterThanOrEqual(18);
  // The names of removed keys go once all processes have seen the removal.
  const record = await until('all but its deletion record to be gone', async () => {
    const left = (await traces(['gone'])).filter(({ location }) => location !== 'mutations');
    return left.length === 1 ? left[0]?.text : undefined;
  });
  expect(record).toMatch(/^\$KV\.control\.site\.gone /);
  expect(record).not.toContain('gone.example');
  const after = (await traces(['stays'])).map(({ location, text }) => `${location} ${text}`).sort();
  expect(after).toEqual(before);
});

test.each([2, 17, 45, 90])('a purge interrupted at call %i is finished by the next one', async (call) => {
  const projectId = storedId(`cut-${call}`);
  await putSite({ id: projectId });
  await visit({ projectId, device: 'a', hours: 40 });
  await stored(projectId, 3);
  await putSite({ id: projectId, deletion: deleted() });
  let left = Number.POSITIVE_INFINITY;
  const breaking = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const member = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          left -= 1;
          if (left === 0) throw new Error('interrupted here');
          return member.apply(target, args);
        };
      },
    });
  const first = await startPurger({
    stores: new PerShard([breaking(world.store)]),
    control: breaking(control),
    // Not before the purger looks for work.
    isLeader: () => left < Number.POSITIVE_INFINITY,
  });
  left = call;
  await until('the break', () => (left <= 0 ? true : undefined));
  await first.stop();
  expect((await siteOf(projectId)).deletion?.status).not.toBe('purged');
  await startPurger();
  await purged(projectId);
  for (const table of ['events', 'sessions']) expect(await rowsOf(table, projectId)).toBe(0);
});

test('an erased person is found nowhere under any name, and all rollups equal a recount of the rest', async () => {
  const projectId = storedId('erasing');
  // No merge removes the rows of an erasure.
  await world.store.command(
    'ALTER TABLE sessions MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1',
  );
  await putSite({ id: projectId, feed: true });
  const person = 'Ada Lovelace';
  for (const hours of [1, 2, 30]) {
    await visit({ projectId, device: 'a', hours, profileId: person });
    await visit({ projectId, device: 'b', hours, profileId: 'another person' });
    await visit({ projectId, device: 'c', hours });
  }
  await visit({ projectId, device: 'd', hours: 3, profileId: 'ada@old.example' });
  // One session, which is another person's in the end; the store has it as it was before.
  await visit({ projectId, device: 'e', hours: 2.01, profileId: person });
  await stored(projectId, 33);
  await visit({ projectId, device: 'e', hours: 2.06, profileId: 'another person' });
  const visits = ['a', 'c'].map((device) => {
    const deviceId = Buffer.from(device).toString('hex').padEnd(32, '0');
    return { projectId, deviceId, sessionId: `000010${deviceId.slice(0, 26)}` };
  });
  await placeOrder('by-name', { projectId, profileId: person, deviceId: 'phone of Ada' });
  await placeOrder('by-visit', { projectId, ...visits[0] });
  await placeOrder('of-another', { projectId, ...visits[1] });
  await update(identify({ projectId, id: person, email: 'ada@example.org' }), 'profile');
  await update(identify({ projectId, id: 'another person' }), 'profile');
  await tieNames(aliases, { projectId, person, own: 'ada@old.example', foreign: 'another person' });
  await stored(projectId, 39);
  await until('the orders', async () => ((await rowsOf('orders', projectId)) === 3 ? true : undefined));
  const job = await rollupJob();
  await until('rollups', async () => {
    await job.pass();
    return (await rowsOf('daily_pages', projectId)) > 0 ? true : undefined;
  });
  const feedOf = async (text: string) =>
    (await traces([text])).filter(({ location }) => location === FEED_STREAM).length;
  expect(await feedOf(person)).toBeGreaterThan(0);
  const id = randomUUID();
  const erasure: Erasure = erasureSchema.parse({
    id,
    teamId: 'team',
    projectId,
    storedId: projectId,
    status: 'waiting',
    profileId: person,
    profileDigest: profileDigest(id, person),
    createdAt: new Date().toISOString(),
    updatedAt: new Date().toISOString(),
  });
  await control.put(erasureKeyOf(id), encodeJson(erasure), 0);
  await startPurger({ rollups: new PerShard([job]) });
  const receipt = await until('the receipt', async () => {
    const entry = await control.get(erasureKeyOf(id));
    const now = erasureSchema.parse(JSON.parse(Buffer.from(entry?.bytes ?? '').toString('utf8')));
    return now.status === 'done' ? now : undefined;
  });
  // Four visits of three events, each with its synthetic start, and its end where that was written.
  expect(receipt).toMatchObject({ profileId: null, aliasesErased: 1, aliasesUndone: 1 });
  expect(receipt.profileDigest).toBe(profileDigest(id, person));
  expect(receipt.rowsRemoved).toMatchObject({ profiles: 1, sessions: expect.any(Number) });
  expect(receipt.rowsRemoved.events).toBeGreaterThanOrEqual(18);
  const theirs = [person, 'ada@old.example', 'ada@example.org', 'phone of Ada'];
  await expect.poll(() => traces(theirs)).toEqual([]);
  const sql = 'SELECT answered FROM orders FINAL WHERE projectId = {projectId:String} ORDER BY id';
  const answers = await world.store.query<{ answered: readonly string[] }>(sql, { projectId });
  expect(answers.map(({ answered }) => answered[1])).toEqual([undefined, undefined, visits[1]?.sessionId]);
  await stored(projectId, 23);
  await job.pass();
  for (const unit of ['hour', 'day'] as const) {
    const { announced, recounted, starts } = await rollupsOfSite(world.store, unit, projectId);
    expect(announced).toEqual(recounted);
    expect(starts).toBeGreaterThan(1);
  }
  expect(await thinnedSessions(world.store, projectId)).toEqual([
    `000020${Buffer.from('e').toString('hex').padEnd(26, '0')}`,
  ]);
  expect(await sessionsUnlikeTheirEvents(world.store, projectId)).toEqual(
    await thinnedSessions(world.store, projectId),
  );
  // The person's later events are new, and stay.
  await visit({ projectId, device: 'a', hours: 50, profileId: person });
  await stored(projectId, 26);
});

test('retention removes rows and rollups that are too old, and nothing else', async () => {
  const projectId = storedId('short');
  await putSite({ id: projectId, retentionDays: null });
  for (const hours of [1, 26, 60]) await visit({ projectId, device: 'a', hours });
  await placeOrder('old', { projectId, deviceId: 'paid long ago' });
  await stored(projectId, 10);
  await until('the order', async () => ((await rowsOf('orders', projectId)) === 1 ? true : undefined));
  const paid = (await traces(['paid long ago'])).map(({ location }) => location);
  expect(paid.sort()).toEqual(['events', 'orders']);
  const job = await rollupJob();
  await until('rollups', async () => {
    await job.pass();
    return (await rowsOf('hourly_totals', projectId)) >= 2 ? true : undefined;
  });
  await startPurger({ rollups: new PerShard([job]) });
  await putSite({ id: projectId, retentionDays: 1 });
  // Today less one day, and the day that is about to go: the visit of the first day is removed, the visit of the second day stays.
  await stored(projectId, 6);
  await until('its session and its rollups', async () => {
    const first = `startedAt < fromUnixTimestamp64Milli(${FIRST_MS + DAY_MS}, 'UTC')`;
    const rows = await world.store.query<{ rows: number }>(
      `SELECT count() AS rows FROM sessions WHERE projectId = {projectId:String} AND ${first}
       UNION ALL SELECT count() AS rows FROM hourly_totals
       WHERE projectId = {projectId:String} AND hour < toDateTime(${(FIRST_MS + DAY_MS) / 1000}, 'UTC')`,
      { projectId },
    );
    return rows.every((row) => row.rows === 0) ? true : undefined;
  });
  expect(await rowsOf('hourly_totals', projectId)).toBeGreaterThan(0);
  expect(await rowsOf('orders', projectId)).toBe(1);
  expect(await traces(['paid long ago'])).toEqual([]);
});
