import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { Bus } from '../bus/bus.ts';
import { ConfigError } from '../config.ts';
import { createLogger } from '../log.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { agreeOnLanes, followLanes, openLayouts, storedLayout, storeLayout } from './agreed-lanes.ts';
import { type LaneLayout, ServiceLanes } from './service-lanes.ts';

let nats: NatsServer;
let buses: readonly Bus[];

beforeAll(async () => {
  nats = await startNatsServer();
  const connect = () => Bus.connect({ url: nats.url, name: 'lanes' }, createLogger('test', 'silent'));
  buses = await Promise.all(Array.from({ length: 8 }, connect));
});
afterAll(async () => {
  for (const bus of buses) await bus.close();
  await nats.stop();
});
beforeEach(async () => {
  const [bus] = buses;
  for (const stream of ['KV_layout', 'lane-0-events']) await bus?.deleteStream(stream);
});

const agree = (process: number, lanes: number, storeShards = 1) => {
  const bus = buses[process];
  if (bus === undefined) throw new Error('no such process');
  return agreeOnLanes(bus, { lanes, storeShards }).then((layout) => layout.lanes);
};

test('the first process decides, and all others take its number or do not start', async () => {
  expect(await agree(0, 4)).toBe(4);
  expect(await agree(1, 0)).toBe(4);
  expect(await agree(2, 4)).toBe(4);
  await expect(agree(3, 8)).rejects.toThrow(ConfigError);
  await expect(agree(3, 8)).rejects.toThrow('LANES: 8 here, but the service on this bus has 4.');
});

test('of processes that start at once, all that may start have one number', async () => {
  const results = await Promise.allSettled(buses.map((_, index) => agree(index, index % 2 === 0 ? 0 : 3)));
  const numbers = new Set(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
  expect(numbers.size).toBe(1);
  const [number] = numbers;
  expect([1, 3]).toContain(number);
  const refused = results.filter((result) => result.status === 'rejected').length;
  expect(refused).toBe(number === 3 ? 0 : 4);
});

const FORMER = expect.objectContaining({
  name: 'ConfigError',
  message: expect.stringMatching(
    /^this data was written by a version before 1\.0\.0: take a backup with .* and restore/,
  ),
});

test('a bus with lanes and no layout is refused with what to do, by every process', async () => {
  const [bus] = buses;
  await bus?.ensureStream('lane-0-events', 'lanes.0.events', 1_048_576);
  const refused = await Promise.allSettled(buses.map((_, index) => agree(index, index % 2)));
  for (const result of refused) expect(result).toEqual({ status: 'rejected', reason: FORMER });
});

test.each([
  { version: 1, lanes: 1 },
  { version: 2, lanes: 4, isGrown: true },
  { version: 3, lanes: 4, storeShards: 2, isGrown: false, growingTo: 8 },
])('the layout %o is refused with what to do', async (record) => {
  const [bus] = buses;
  if (bus === undefined) throw new Error('no such process');
  const layouts = await openLayouts(bus);
  await layouts.put('lanes', Buffer.from(JSON.stringify(record)), 0);
  await expect(agree(0, 0)).rejects.toEqual(FORMER);
  await expect(storedLayout(layouts)).rejects.toEqual(FORMER);
});

test('a layout of a later version is no data of before', async () => {
  const [bus] = buses;
  if (bus === undefined) throw new Error('no such process');
  const layouts = await openLayouts(bus);
  await layouts.put('lanes', Buffer.from(JSON.stringify({ version: 4, lanes: 1 })), 0);
  await expect(agree(0, 0)).rejects.toThrow('layout has version 4');
});

test('processes that start at once make streams as soon as they agree, and none takes the bus for a former one', async () => {
  const start = async (bus: Bus) => {
    const { lanes } = await agreeOnLanes(bus, { lanes: 0, storeShards: 1 });
    await bus.ensureStream('lane-0-events', 'lanes.0.events', 1_048_576);
    return lanes;
  };
  expect(await Promise.all(buses.map(start))).toEqual(buses.map(() => 1));
});

test('a service that has grown goes by the bus, whatever LANES said at its first start', async () => {
  const [bus] = buses;
  if (bus === undefined) throw new Error('no such process');
  expect(await agree(0, 2)).toBe(2);
  const layouts = await openLayouts(bus);
  expect(JSON.parse(Buffer.from((await layouts.get('lanes'))?.bytes ?? []).toString())).toEqual({
    version: 1,
    lanes: 2,
    storeShards: 1,
    isGrown: false,
  });
  const { lanes, stop } = await followLanes(
    bus,
    { lanes: 2, storeShards: 1 },
    createLogger('test', 'silent'),
  );
  const seen: unknown[] = [];
  lanes.onChange(() => seen.push([lanes.count, lanes.layout.growingTo, lanes.nameOf(1)]));
  const change = async (layout: LaneLayout) =>
    storeLayout(layouts, layout, (await storedLayout(layouts))?.revision ?? 0);
  await change({ lanes: 2, storeShards: 1, isGrown: false, growingTo: 4 });
  await change({ lanes: 4, storeShards: 1, isGrown: true, growingTo: undefined });
  await expect
    .poll(() => seen)
    .toEqual([
      [2, 4, 1],
      [4, undefined, '1-of-4'],
    ]);
  stop();
  for (const configured of [0, 2, 4]) expect(await agree(1, configured)).toBe(4);
});

const SHARDED = { lanes: 0, storeShards: 2 };

test('a store with several shards has a lane for each of them, and no process that counts otherwise starts', async () => {
  const [bus] = buses;
  if (bus === undefined) throw new Error('no such process');
  await expect(agreeOnLanes(bus, { lanes: 3, storeShards: 2 })).rejects.toThrow(
    'LANES: 3 is no multiple of 2, which is how many servers CLICKHOUSE_URL lists',
  );
  const layout = { lanes: 2, storeShards: 2, isGrown: false, growingTo: undefined };
  expect(await agreeOnLanes(bus, SHARDED)).toEqual(layout);
  // A collector has no store.
  expect(await agreeOnLanes(bus, { lanes: 0, storeShards: 0 })).toEqual(layout);
  for (const storeShards of [1, 3])
    await expect(agree(1, 0, storeShards)).rejects.toThrow('has 2 shards, for good');
  // No name of a lane is one that a process with one shard would use.
  expect(new ServiceLanes(layout).nameOf(1)).toBe('1-of-2');
  const layouts = await openLayouts(bus);
  const stored = await storedLayout(layouts);
  await storeLayout(layouts, { ...layout, lanes: 4, isGrown: true }, stored?.revision ?? 0);
  expect(await agreeOnLanes(bus, SHARDED)).toEqual({ ...layout, lanes: 4, isGrown: true });
});

test('a process without a store does not decide on shards: the first one that has it does, as long as there is no stream', async () => {
  const [bus] = buses;
  if (bus === undefined) throw new Error('no such process');
  expect(await agreeOnLanes(bus, { lanes: 0, storeShards: 0 })).toMatchObject({ lanes: 1, storeShards: 1 });
  expect(await agreeOnLanes(bus, SHARDED)).toMatchObject({ lanes: 2, storeShards: 2 });
  const layouts = await openLayouts(bus);
  const stored = await storedLayout(layouts);
  const one = { lanes: 1, storeShards: 1, isGrown: false, growingTo: undefined };
  await storeLayout(layouts, one, stored?.revision ?? 0);
  await bus.ensureStream('lane-0-events', 'lanes.0.events', 1_048_576);
  await expect(agreeOnLanes(bus, SHARDED)).rejects.toThrow(
    'CLICKHOUSE_URL lists 2 servers, and the store of the service on this bus has 1 shard, for good',
  );
});

test('a process that had not heard of the shards ends when a processor decides on them', async () => {
  const [bus] = buses;
  if (bus === undefined) throw new Error('no such process');
  const exits: unknown[] = [];
  const exit = vi.spyOn(process, 'exit').mockImplementation(((code: number) => exits.push(code)) as never);
  const without = { lanes: 0, storeShards: 0 };
  const { lanes, stop } = await followLanes(bus, without, createLogger('test', 'silent'));
  try {
    await agreeOnLanes(bus, SHARDED);
    await expect.poll(() => exits).toEqual([1]);
    // It sends nothing by the new layout before it has ended.
    expect(lanes.layout).toMatchObject({ lanes: 1, storeShards: 1 });
  } finally {
    exit.mockRestore();
    stop();
  }
});
