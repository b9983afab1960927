import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  CONTROL_BUCKET,
  clientKeyOf,
  type Site,
  type SiteDeletion,
  siteKeyOf,
  siteSchema,
} from '../../infra/accounts/accounts.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { Metrics } from '../../infra/metrics.ts';
import { PerShard } from '../../infra/store/store-shards.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import { ALIASES_BUCKET } from '../../ingest/entity-update.ts';
import { subjectOf } from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { LANES_BUCKET } from '../lane/lane-record.ts';
import { testLeader } from '../leader-job/testing/test-leader.ts';
import { RollupJob } from '../rollups/rollup-job.ts';
import { createRollupMetrics } from '../rollups/rollup-metrics.ts';
import { answering, type LaneWorld, startLaneWorld } from '../testing/lane-world.ts';
import { messageOf } from '../testing/run.ts';
import { createPurgeMetrics } from './purge-metrics.ts';
import { Purger } from './purger.ts';

const LANE = 0;
const NOW_MS = Date.now();
const AT = new Date(NOW_MS - 60_000).toISOString();
/** A deletion that is due. */
const DUE: SiteDeletion = {
  status: 'waiting',
  requestedAt: AT,
  purgeAt: AT,
  startedAt: null,
  finishedAt: null,
  step: '',
  rowsRemoved: {},
};
const LATER: SiteDeletion = { ...DUE, purgeAt: new Date(NOW_MS + DAY_MS).toISOString() };

let world: LaneWorld;
let control: KeyedBytes;
let published = 0;
const running: Purger[] = [];

beforeAll(async () => {
  world = await startLaneWorld('purge_start_test');
  control = await world.bus.keyed(CONTROL_BUCKET);
  await world.open(LANE);
  await answering(await world.start({ lane: LANE, instance: 'one' }));
});
afterEach(async () => {
  for (const purger of running.splice(0)) await purger.stop();
});
afterAll(() => world.stop());

async function startPurger(bucket: KeyedBytes): Promise<Purger> {
  const laneRecords = await world.bus.keyed(LANES_BUCKET);
  const shared = { laneRecords, lanes: 1, nameOf: (lane: number) => lane };
  const purger = await Purger.start({
    ...shared,
    bus: world.bus,
    control: bucket,
    aliases: await world.bus.keyed(ALIASES_BUCKET),
    stores: new PerShard([world.store]),
    rollups: new PerShard([
      new RollupJob({
        ...shared,
        store: world.store,
        intervalMs: 1_000,
        metrics: createRollupMetrics(new Metrics()),
        ...testLeader('rollup'),
      }),
    ]),
    metrics: createPurgeMetrics(new Metrics()),
    ...testLeader('purge'),
  });
  running.push(purger);
  return purger;
}

async function putSite(id: string, deletion: Site['deletion']): Promise<void> {
  const site = siteSchema.parse({ id, teamId: 'team', name: id, createdAt: AT, updatedAt: AT, deletion });
  const before = await control.get(siteKeyOf(id));
  await control.put(siteKeyOf(id), encodeJson(site), before?.revision ?? 0);
}

async function statusOf(id: string): Promise<SiteDeletion['status'] | undefined> {
  const entry = await control.get(siteKeyOf(id));
  return siteSchema.parse(JSON.parse(Buffer.from(entry?.bytes ?? '').toString('utf8'))).deletion?.status;
}

async function eventsOf(projectId: string): Promise<number> {
  const [found] = await world.store.query<{ rows: number }>(
    "SELECT count() AS rows FROM events WHERE projectId = {projectId:String} AND name = 'screen_view'",
    { projectId },
  );
  return found?.rows ?? 0;
}

/** A deleted site with an event, due for its purge. */
async function dueSite(projectId: string): Promise<void> {
  published += 1;
  const event = plainEvent({ projectId: storedId(projectId), occurredAtMs: NOW_MS, receivedAtMs: NOW_MS });
  await world.bus.publish(subjectOf(LANE), messageOf([event], published), 5_000);
  await until('the event', async () => (await eventsOf(projectId)) === 1 || undefined);
  await putSite(projectId, DUE);
}

test.each([
  ['restored', null],
  ['restored and deleted anew', LATER],
])('a site that is %s just before its purge begins loses nothing', async (name, next) => {
  const projectId = name.replaceAll(' ', '-');
  await dueSite(projectId);
  // Another process writes after the purger has read the record, and before it writes.
  let attempts = 0;
  let isWritten = false;
  const raced = new Proxy(control, {
    get: (target, member) => {
      const value: unknown = Reflect.get(target, member, target);
      if (member !== 'put') return typeof value === 'function' ? value.bind(target) : value;
      return async (key: string, bytes: Uint8Array, revision: number) => {
        if (key === siteKeyOf(projectId)) {
          attempts += 1;
          if (attempts === 1) {
            await putSite(projectId, next);
            isWritten = true;
          }
        }
        return target.put(key, bytes, revision);
      };
    },
  });
  const purger = await startPurger(raced);
  // A pass that began during the write would not find it.
  await until('the other write', () => isWritten || undefined);
  await purger.pass();
  expect(await statusOf(projectId)).toBe(next?.status);
  expect(await eventsOf(projectId)).toBe(1);
});

test('a purge removes the clients of its site, and no root client, which belongs to the team', async () => {
  const projectId = 'of-clients';
  const clients = (['read', 'write', 'root'] as const).map((type) => ({ type, id: randomUUID() }));
  for (const { type, id } of clients) {
    const client = { id, name: type, type, projectId, teamId: 'team', secretHash: 'none' };
    await control.put(clientKeyOf(id), encodeJson({ ...client, createdAt: AT, updatedAt: AT }), 0);
  }
  await dueSite(projectId);
  await startPurger(control);
  await until('the purge', async () => (await statusOf(projectId)) === 'purged' || undefined);
  const left = await Promise.all(clients.map(({ id }) => control.get(clientKeyOf(id))));
  expect(left.map((stored) => stored?.bytes !== undefined)).toEqual([false, false, true]);
  expect(await eventsOf(projectId)).toBe(0);
});
