import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { CONTROL_BUCKET, siteKeyOf, siteSchema } from '../../../infra/accounts/accounts.ts';
import type { StoredId } from '../../../infra/accounts/ids.ts';
import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { encodeJson } from '../../../infra/bus/mirror.ts';
import { Metrics } from '../../../infra/metrics.ts';
import type { Store } from '../../../infra/store/store.ts';
import { PerShard } from '../../../infra/store/store-shards.ts';
import { storedId } from '../../../infra/testing/ids.ts';
import { until } from '../../../infra/testing/look-again.ts';
import { ALIASES_BUCKET } from '../../../ingest/entity-update.ts';
import { subjectOf } from '../../../ingest/event.ts';
import { plainEvent } from '../../../ingest/testing/events.ts';
import { erasureKeyOf, erasureSchema, profileDigest } from '../../erasure.ts';
import { LANES_BUCKET } from '../../lane/lane-record.ts';
import { testLeader } from '../../leader-job/testing/test-leader.ts';
import { RollupJob } from '../../rollups/rollup-job.ts';
import { createRollupMetrics } from '../../rollups/rollup-metrics.ts';
import { answering, type LaneWorld, startLaneWorld } from '../../testing/lane-world.ts';
import { messageOf } from '../../testing/run.ts';
import { createPurgeMetrics } from '../purge-metrics.ts';
import { Purger } from '../purger.ts';
import { insertPersonRows, PERSON, PERSON_TEXTS, rowsOfOthers, rowsOfPerson } from './person-rows.ts';

/** Expressions that each replica would evaluate by itself. */
const LOOKS_UP = /\b(?:SELECT|dictGet\w*|dictHas|joinGet\w*|now\w*|today|rand\w*|generateUUID\w*)\b/i;
const ADDRESS = /\b\d{1,3}(?:\.\d{1,3}){3}\b/;
const COMMAND_MAX_BYTES = 100_000;

interface StoreOfErasures {
  readonly database: string;
  /** The replicas of the store; undefined for a single server. */
  readonly replicas: Parameters<typeof startLaneWorld>[1];
  /** Events of the person who is erased. */
  readonly personEvents: number;
  /** Numbers of the changes at which an erasure is cut off. */
  readonly cuts: readonly number[];
}

/** Tests of the texts that the store keeps of deletions, in mutations. */
export function testMutations({ database, replicas, personEvents, cuts }: StoreOfErasures): void {
  let world: LaneWorld;
  let control: KeyedBytes;
  let published = 0;
  const running: Purger[] = [];

  beforeAll(async () => {
    world = await startLaneWorld(database, replicas);
    control = await world.bus.keyed(CONTROL_BUCKET);
    await world.open(0);
    await answering(await world.start({ lane: 0, instance: 'one' }));
    // Flushes, so that the rows of the first one are before every erase command.
    for (let minute = 0; minute < 3; minute += 1) {
      published += 1;
      const atMs = Date.now();
      const event = plainEvent({
        ...{ projectId: storedId('clock'), eventId: `e${minute}`, occurredAtMs: atMs, receivedAtMs: atMs },
      });
      await world.bus.publish(subjectOf(0), messageOf([event], published), 5_000);
    }
    await until('a flush', async () => ((await rowsOf(storedId('clock'))) >= 3 ? true : undefined));
  });
  afterEach(async () => {
    for (const purger of running.splice(0)) await purger.stop();
  });
  afterAll(() => world?.stop());

  async function rowsOf(site: StoredId): Promise<number> {
    const [row] = await world.store.query<{ rows: number }>(
      'SELECT count() AS rows FROM events WHERE projectId = {site:String}',
      { site },
    );
    return row?.rows ?? 0;
  }

  async function startPurger(store: Store = world.store): Promise<Purger> {
    const laneRecords = await world.bus.keyed(LANES_BUCKET);
    const metrics = createRollupMetrics(new Metrics());
    const rollupJob = new RollupJob({
      ...{ store: world.store, laneRecords, lanes: 1, intervalMs: 1_000, metrics },
      ...testLeader('rollup'),
    });
    for (let pass = 0; pass < 3; pass += 1) await rollupJob.pass();
    const purger = await Purger.start({
      ...{ bus: world.bus, stores: new PerShard([store]), laneRecords, control, lanes: 1 },
      rollups: new PerShard([rollupJob]),
      aliases: await world.bus.keyed(ALIASES_BUCKET),
      nameOf: (lane) => lane,
      metrics: createPurgeMetrics(new Metrics()),
      markerAgeMs: 200,
      ...testLeader('purge'),
    });
    running.push(purger);
    return purger;
  }

  async function putSite(id: string, fields: object = {}): Promise<void> {
    const at = new Date(Date.now() - 60_000).toISOString();
    const site = siteSchema.parse({ id, teamId: 'team', name: id, createdAt: at, updatedAt: at, ...fields });
    const before = await control.get(siteKeyOf(id));
    await control.put(siteKeyOf(id), encodeJson(site), before?.revision ?? 0);
  }

  async function requestErasure(site: StoredId): Promise<string> {
    const id = randomUUID();
    const at = new Date().toISOString();
    const request = { teamId: 'team', projectId: site, storedId: site, status: 'waiting', profileId: PERSON };
    const times = { createdAt: at, updatedAt: at, profileDigest: profileDigest(id, PERSON) };
    await control.put(erasureKeyOf(id), encodeJson(erasureSchema.parse({ id, ...request, ...times })), 0);
    return id;
  }

  function erased(id: string) {
    return until('the receipt', async () => {
      const entry = await control.get(erasureKeyOf(id));
      const now = erasureSchema.parse(JSON.parse(Buffer.from(entry?.bytes ?? '').toString('utf8')));
      return now.status === 'done' ? now : undefined;
    });
  }

  function mutations() {
    return world.store.query<{ database: string; table: string; command: string; isDone: number }>(
      'SELECT database, table, command, is_done AS isDone FROM system.mutations WHERE startsWith(database, {database:String})',
      { database: world.store.database },
    );
  }

  test('no deletion looks up anything, names a person or is long', async () => {
    await insertPersonRows(world.store, { site: storedId('shop'), events: personEvents });
    await insertPersonRows(world.store, { site: storedId('gone'), events: 40 });
    await insertPersonRows(world.store, { site: storedId('short'), events: 40 });
    const others = await rowsOfOthers(world.store, 'shop');
    expect(Object.values(await rowsOfPerson(world.store, 'shop')).every((rows) => rows > 0)).toBe(true);
    await putSite('shop');
    const at = new Date(Date.now() - 60_000).toISOString();
    const none = { startedAt: null, finishedAt: null, step: '', rowsRemoved: {} };
    await putSite('gone', { deletion: { status: 'waiting', requestedAt: at, purgeAt: at, ...none } });
    await putSite('short', { retentionDays: 1 });
    const id = await requestErasure(storedId('shop'));
    await startPurger();
    const { rowsRemoved } = await erased(id);
    expect(rowsRemoved).toMatchObject({ events: personEvents + 1, sessions: personEvents / 20, profiles: 1 });
    await until('the others', async () =>
      (await rowsOf(storedId('gone'))) + (await rowsOf(storedId('short'))) > 0 ? undefined : true,
    );
    expect(await rowsOfPerson(world.store, 'shop')).toEqual({
      events: 0,
      sessions: 0,
      profiles: 0,
      orders: 0,
    });
    expect(await rowsOfOthers(world.store, 'shop')).toEqual(others);
    // Retention continues after the receipt.
    const all = await until('the mutations', async () => {
      const known = await mutations();
      return known.every(({ isDone }) => isDone === 1) ? known : undefined;
    });
    const tables = new Set(all.map(({ table }) => table));
    for (const table of ['events', 'sessions', 'profiles', 'orders', 'erasing', 'daily_pages'])
      expect(tables).toContain(table);
    for (const { command } of all) {
      expect(command).not.toMatch(LOOKS_UP);
      expect(command).not.toMatch(ADDRESS);
      for (const text of PERSON_TEXTS) expect(command).not.toContain(text);
      expect(command.length).toBeLessThan(COMMAND_MAX_BYTES);
    }
  });

  test.each(cuts)('an erasure that is cut off at its change %i goes on', async (last) => {
    const site = storedId(`cut-${last}`);
    await insertPersonRows(world.store, { site, events: 40 });
    const others = await rowsOfOthers(world.store, site);
    await putSite(site);
    const id = await requestErasure(site);
    let left = last;
    // The change is made, and its answer is lost.
    const cut = new Proxy(world.store, {
      get: (store, name) => {
        const member = Reflect.get(store, name, store);
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]) => {
          const answer = await member.apply(store, args);
          if (name === 'mutate' || name === 'command') left -= 1;
          if (left <= 0) throw new Error('cut off here');
          return answer;
        };
      },
    });
    const first = await startPurger(cut);
    await until('the cut', () => (left <= 0 ? true : undefined));
    await first.stop();
    await startPurger();
    await erased(id);
    expect(await rowsOfPerson(world.store, site)).toEqual({ events: 0, sessions: 0, profiles: 0, orders: 0 });
    expect(await rowsOfOthers(world.store, site)).toEqual(others);
  });
}
