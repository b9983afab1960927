import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { CONTROL_BUCKET, type Site, siteKeyOf, siteSchema } from '../../infra/accounts/accounts.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { Metrics } from '../../infra/metrics.ts';
import { PerShard } from '../../infra/store/store-shards.ts';
import { type Delivery, firstDelivery, type Integration, integrationKeyOf } from '../integration.ts';
import { testLeader } from '../leader-job/testing/test-leader.ts';
import { Deliverer } from './deliverer.ts';
import { createDeliveryMetrics, type DeliveryMetrics } from './delivery-metrics.ts';
import { readDelivery } from './delivery-records.ts';
import { readBucket } from './testing/bucket-reader.ts';
import {
  type DeliveryWorld,
  integrationOf,
  LANES,
  LOW_LIMITS,
  openBucket,
  startDeliveryWorld,
} from './testing/delivery-world.ts';
import { eventOf, putRecord, storeEvents, writeCheckpoint } from './testing/stored-events.ts';

const FIRST_MS = Date.UTC(2026, 1, 27, 3);
const DAY = '2026-02-27';
const SOON = { interval: 100 };

let world: DeliveryWorld;
let control: KeyedBytes;
let laneRecords: KeyedBytes;
let metrics: DeliveryMetrics;
let flushNumber = 0;
let isLeader = true;
const running: Deliverer[] = [];

beforeAll(async () => {
  world = await startDeliveryWorld('deliverer_test');
  control = await world.lane.bus.keyed(CONTROL_BUCKET);
  laneRecords = await world.lane.bus.keyed('lanes-of-deliverer');
});

afterEach(async () => {
  for (const deliverer of running.splice(0)) await deliverer.stop();
  for (const key of await control.keys()) await control.remove(key);
  isLeader = true;
});

afterAll(() => world.stop());

async function startDeliverer(): Promise<Deliverer> {
  metrics = createDeliveryMetrics(new Metrics());
  const deliverer = await Deliverer.start({
    ...testLeader('delivery'),
    bus: world.lane.bus,
    stores: new PerShard([world.lane.store]),
    control,
    laneRecords,
    deliveries: world.deliveries,
    lanes: LANES,
    intervalMs: 100,
    openBucket: (integration) => openBucket(integration),
    metrics,
    crashPoint: () => {},
    isLeader: () => isLeader,
    limits: LOW_LIMITS,
    backoff: { firstMs: 50, maxMs: 200 },
  });
  running.push(deliverer);
  return deliverer;
}

async function putSite(id: string, fields: Partial<Site> = {}): Promise<void> {
  const at = new Date().toISOString();
  const site = siteSchema.parse({ id, teamId: 'team', name: id, createdAt: at, updatedAt: at, ...fields });
  await putRecord(control, siteKeyOf(id), site);
}

/** An integration with its site, whose delivery has begun. */
async function begun(fields: Partial<Integration> = {}): Promise<Integration> {
  const integration = integrationOf(world, fields);
  await putSite(integration.projectId);
  await change(integration);
  await expect.poll(() => deliveryOf(integration), SOON).toBeDefined();
  return integration;
}

function change(integration: Integration): Promise<void> {
  return putRecord(control, integrationKeyOf(integration.id), integration);
}

async function deliveryOf({ id }: Integration): Promise<Delivery | undefined> {
  return (await readDelivery(world.deliveries, id)).delivery;
}

/** One event of each site, in a flush. */
async function event(...integrations: readonly Integration[]): Promise<void> {
  flushNumber += 1;
  for (const { storedId } of integrations)
    await storeEvents(world.lane.store, storedId, [
      { number: flushNumber, lane: 0, flushNumber, createdAtMs: FIRST_MS + flushNumber },
    ]);
  await writeCheckpoint(laneRecords, 0, flushNumber);
}

async function numbersIn(integration: Integration): Promise<number[]> {
  const { events } = await readBucket(await world.s3.objects(), integration);
  return events.map(({ id }) => Number.parseInt(id.slice(1), 16)).sort((a, b) => a - b);
}

test('new events are delivered by themselves, and a backfill delivers older ones', async () => {
  const before = integrationOf(world);
  await event(before);
  const first = flushNumber;
  await startDeliverer();
  const integration = await begun({ projectId: before.projectId });
  await event(integration);
  await expect.poll(() => numbersIn(integration), SOON).toEqual([first + 1]);
  const requested = { id: randomUUID(), from: DAY, to: DAY, requestedAt: new Date().toISOString() };
  await change({ ...integration, backfills: [requested] });
  await expect.poll(() => numbersIn(integration), SOON).toEqual([first, first + 1]);
  await event(integration);
  await expect.poll(() => numbersIn(integration), SOON).toEqual([first, first + 1, first + 2]);
  const { events } = await readBucket(await world.s3.objects(), integration);
  expect(events).toContainEqual(
    eventOf(
      { number: first, lane: 0, flushNumber: first, createdAtMs: FIRST_MS + first },
      integration.projectId,
    ),
  );
  await expect
    .poll(async () => (await deliveryOf(integration))?.backfills[0]?.finishedAt, SOON)
    .toEqual(expect.any(String));
  const until = Date.parse((await deliveryOf(integration))?.deliveredUntil ?? '');
  expect(Date.now() - until).toBeLessThan(HOUR_MS);
  expect(metrics.rows.value).toBe(3);
});

test('a paused integration delivers nothing, and everything once it is resumed', async () => {
  await startDeliverer();
  const integration = await begun();
  const other = await begun();
  await change({ ...integration, paused: true });
  const writeOneMore = async () => {
    const count = (await numbersIn(other)).length + 1;
    await event(integration, other);
    await expect.poll(() => numbersIn(other), SOON).toHaveLength(count);
  };
  // A step in progress when the integration was paused is finished.
  for (let events = 0; events < 2; events += 1) await writeOneMore();
  const { sequence } = (await deliveryOf(integration)) ?? { sequence: 0 };
  for (let events = 0; events < 3; events += 1) await writeOneMore();
  expect((await deliveryOf(integration))?.sequence).toBe(sequence);
  await change(integration);
  await expect.poll(() => numbersIn(integration), SOON).toEqual(await numbersIn(other));
});

test.each([
  ['denied', { sealed: 'wrong' }, { sealed: 'S3RVER' }],
  ['denied', { accessKeyId: 'NOBODY' }, { accessKeyId: 'S3RVER' }],
  ['no-bucket', { bucket: 'there-is-none' }, { bucket: 'events-of-customers' }],
  ['unreachable', { endpoint: 'http://127.0.0.1:9' }, 'proxy'],
  ['unreadable', { sealed: '' }, { sealed: 'S3RVER' }],
] as const)(
  '%s: the failure is in the record, other integrations go on, and everything is delivered once it is fixed',
  async (reason, wrong, right) => {
    await startDeliverer();
    const integration = await begun(wrong);
    const other = await begun();
    await event(integration, other);
    await expect.poll(async () => (await deliveryOf(integration))?.failure?.reason, SOON).toBe(reason);
    await event(integration, other);
    await expect.poll(() => numbersIn(other), SOON).toEqual([flushNumber - 1, flushNumber]);
    await expect
      .poll(async () => (await deliveryOf(integration))?.failure?.attempts, SOON)
      .toBeGreaterThan(2);
    const { failure } = (await deliveryOf(integration)) ?? {};
    expect(Date.parse(failure?.nextTryAt ?? '')).toBeGreaterThan(Date.parse(failure?.since ?? ''));
    expect(failure?.message).not.toContain('S3RVER');
    expect(failure?.message).not.toBe('');
    expect((await deliveryOf(other))?.failure).toBeNull();
    expect(metrics.failures[reason].value).toBeGreaterThan(1);
    await change({ ...integration, ...(right === 'proxy' ? { endpoint: world.proxy.endpoint } : right) });
    await expect.poll(() => numbersIn(integration), SOON).toEqual([flushNumber - 1, flushNumber]);
    await expect.poll(async () => (await deliveryOf(integration))?.failure, SOON).toBeNull();
  },
);

test('the delivery of a removed integration is removed, and that of a site under deletion is suspended', async () => {
  await startDeliverer();
  const [removed, leaving, other] = [await begun(), await begun(), await begun()];
  const at = new Date().toISOString();
  const none = { startedAt: null, finishedAt: null, step: '', rowsRemoved: {} };
  await putSite(leaving.projectId, {
    deletion: { status: 'waiting', requestedAt: at, purgeAt: at, ...none },
  });
  await control.remove(integrationKeyOf(removed.id));
  await expect.poll(() => deliveryOf(removed), SOON).toBeUndefined();
  await event(removed, leaving, other);
  await expect.poll(() => numbersIn(other), SOON).toHaveLength(1);
  expect(await numbersIn(removed)).toEqual([]);
  expect(await numbersIn(leaving)).toEqual([]);
  expect(await deliveryOf(leaving)).toBeDefined();
});

test('a delivery without an integration is removed, but not when its integration exists and is unreadable', async () => {
  const left = integrationOf(world);
  const known = integrationOf(world);
  for (const integration of [left, known])
    await world.deliveries.put(
      integrationKeyOf(integration.id),
      encodeJson(firstDelivery(integration.id, [0])),
      0,
    );
  // The deliverer's mirror skips a record that it cannot read, as if it did not know it yet.
  await putRecord(control, integrationKeyOf(known.id), { ...known, type: 'unheard of' });
  await startDeliverer();
  await expect.poll(() => deliveryOf(left), SOON).toBeUndefined();
  expect(await deliveryOf(known)).toBeDefined();
});

test('a process that does not lead delivers nothing, and two leaders deliver everything once', async () => {
  isLeader = false;
  await startDeliverer();
  const integration = integrationOf(world);
  await putSite(integration.projectId);
  await change(integration);
  isLeader = true;
  await expect.poll(() => deliveryOf(integration), SOON).toBeDefined();
  await startDeliverer();
  const first = flushNumber + 1;
  for (let events = 0; events < 10; events += 1) {
    await event(integration);
    const last = flushNumber;
    if (events % 3 === 0)
      await expect.poll(async () => (await numbersIn(integration)).at(-1), SOON).toBe(last);
  }
  const all = Array.from({ length: 10 }, (_, index) => first + index);
  await expect.poll(() => numbersIn(integration), SOON).toEqual(all);
});

test('while the store is away an integration fails with store-away, and then recovers', async () => {
  await startDeliverer();
  const integration = await begun();
  await event(integration);
  await expect.poll(() => numbersIn(integration), SOON).toHaveLength(1);
  await world.lane.server.kill();
  // A flush without events of this site: only the store knows whether it has any.
  await event();
  await expect.poll(async () => (await deliveryOf(integration))?.failure?.reason, SOON).toBe('store-away');
  await world.lane.server.restart();
  await event(integration);
  await expect.poll(() => numbersIn(integration), SOON).toEqual([flushNumber - 2, flushNumber]);
  await expect.poll(async () => (await deliveryOf(integration))?.failure, SOON).toBeNull();
});
