import { connect, type JetStreamManager, type NatsConnection } from 'nats';
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import { createLogger } from '../log.ts';
import { type NatsCluster, startNatsCluster } from '../testing/nats-cluster.ts';
import type { NatsServer } from '../testing/nats-server.ts';
import { Bus } from './bus.ts';

const log = createLogger('test', 'silent');
const STREAM = 'counted';
const BUCKET = 'kept';
/** A cluster that has lost a server chooses a leader within a few seconds. */
const SETTLED_MAX_MS = 120_000;
/** Copies of a few thousand messages are up to date within seconds. */
const COPY_MAX_MS = 40_000;
const STARTS_MAX = 3;

let cluster: NatsCluster;
let connection: NatsConnection;
let manager: JetStreamManager;

beforeAll(async () => {
  cluster = await startNatsCluster();
  connection = await connect({ servers: cluster.url.replaceAll('nats://', '').split(',') });
  manager = await connection.jetstreamManager({ checkAPI: false });
}, SETTLED_MAX_MS);
afterAll(async () => {
  await connection.close();
  await cluster.stop();
});

// Only the output of the servers shows why three servers are no cluster.
beforeEach(() => {
  onTestFailed(() => {
    for (const { output } of cluster.servers) process.stderr.write(`${output}\n`);
  });
});

/** Repeats an attempt while a cluster without a leader rejects it. */
async function eventually<Value>(attempt: () => Promise<Value>, maxMs = SETTLED_MAX_MS): Promise<Value> {
  const deadlineMs = performance.now() + maxMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const replicasOf = async (stream: string) => (await manager.streams.info(stream)).config.num_replicas;

/** Resolves once every copy of a stream is up to date. */
async function untilCurrent(stream: string): Promise<void> {
  await eventually(async () => {
    const { cluster: copies } = await manager.streams.info(stream);
    const others = copies?.replicas ?? [];
    if (others.length < 2 || !others.every(({ current, offline }) => current && offline !== true))
      throw new Error(`a copy of ${stream} is behind: ${JSON.stringify(copies)}`);
  }, COPY_MAX_MS);
}

/**
 * Resolves once the copies of a server that was restarted are up to date. On a busy machine about one start in twenty of nats-server 2.10.27
 * needs another: the server asks to catch up every two or three seconds, and no leader hears it (debug logs of both; README.md).
 */
async function untilCopied(server: NatsServer, streams: readonly string[]): Promise<void> {
  for (let starts = 1; ; starts += 1) {
    try {
      for (const stream of streams) await untilCurrent(stream);
      return;
    } catch (error) {
      if (starts === STARTS_MAX) throw error;
      process.stderr.write(
        `no leader hears a server, which starts once more: ${String(error)}\n${server.output}\n`,
      );
      await server.restart();
    }
  }
}

test('what exists on one server gets three copies, and never fewer again', async () => {
  const single = await Bus.connect({ url: cluster.url, name: 'single' }, log);
  await eventually(() => single.ensureStream(STREAM, STREAM, 16_777_216));
  await eventually(() => single.keyed(BUCKET));
  expect([await replicasOf(STREAM), await replicasOf(`KV_${BUCKET}`)]).toEqual([1, 1]);
  const bus = await Bus.connect({ url: cluster.url, name: 'three', replicas: 3 }, log);
  await eventually(() => bus.ensureStream(STREAM, STREAM, 16_777_216));
  await eventually(() => bus.keyed(BUCKET));
  expect([await replicasOf(STREAM), await replicasOf(`KV_${BUCKET}`)]).toEqual([3, 3]);
  // A lagging server would answer a direct read.
  expect((await manager.streams.info(`KV_${BUCKET}`)).config.allow_direct).toBe(false);
  await eventually(() => single.ensureStream(STREAM, STREAM, 16_777_216));
  await eventually(() => single.keyed(BUCKET));
  expect([await replicasOf(STREAM), await replicasOf(`KV_${BUCKET}`)]).toEqual([3, 3]);
  await Promise.all([single.close(), bus.close()]);
}, 120_000);

test('a bucket with three copies can be read by who makes it, by who opens it later, and by who opened it with one copy', async () => {
  const bus = await Bus.connect({ url: cluster.url, name: 'maker', replicas: 3 }, log);
  const single = await Bus.connect({ url: cluster.url, name: 'single', replicas: 1 }, log);
  // Also an existing one with a single copy.
  const [old, grown] = [await single.keyed('old'), await bus.keyed('old')];
  const [made, seen] = [await bus.keyed('new'), await single.keyed('new')];
  for (const bucket of [made, grown]) {
    // A bucket has no leader for a moment while its copies are made; a write without an answer may have been stored.
    await eventually(async () => {
      const stored = await bucket.get('key');
      if (stored?.bytes === undefined) await bucket.put('key', Buffer.from('value'), stored?.revision ?? 0);
    });
  }
  for (const bucket of [made, seen, grown, old])
    expect(Buffer.from((await bucket.get('key'))?.bytes ?? []).toString()).toBe('value');
  await Promise.all([single.close(), bus.close()]);
}, 120_000);

test('more copies than the cluster has servers are rejected with what to do', async () => {
  const bus = await Bus.connect({ url: cluster.url, name: 'five', replicas: 5 }, log);
  await expect(bus.keyed('five')).rejects.toThrow(/^bus: bucket: no suitable peers .*BUS_REPLICAS/);
  await bus.close();
}, 60_000);

test('what a server says of a stream is certain only while it hears the others', async () => {
  const bus = await Bus.connect({ url: cluster.url, name: 'split', replicas: 3 }, log);
  await eventually(() => bus.ensureStream('split', 'split', 16_777_216));
  await untilCurrent('split');
  // `footfall-1` is the second server.
  const leader = (await manager.streams.info('split')).cluster?.leader ?? '';
  const index = Number(leader.split('-').at(-1));
  const [own, others] = [cluster.servers[index], cluster.servers.filter((_, other) => other !== index)];
  if (own === undefined) throw new Error(`no server is called ${leader}`);
  const alone = await Bus.connect({ url: own.url, name: 'alone', replicas: 3 }, log);
  const isCertain = async () => (await alone.streamBounds('split')).isCertain;
  await expect.poll(isCertain).toBe(true);
  for (const other of others) await other.pause();
  // It continues for ten seconds as if it led the others.
  await expect.poll(isCertain).toBe(false);
  for (const other of others) other.resume();
  await expect.poll(() => isCertain().catch(() => false), { timeout: SETTLED_MAX_MS }).toBe(true);

  // A server that is paused while the others choose another leader does not know of the new leader when it continues.
  await own.pause();
  const elsewhere = others.map(({ url }) => url).join(',');
  const bystander = await Bus.connect({ url: elsewhere, name: 'bystander', replicas: 3 }, log);
  const stored = await eventually(() => bystander.publish('split', Buffer.from('stored'), 2_000));
  const said = alone.streamBounds('split').catch(() => undefined);
  own.resume();
  for (const bounds of [await said, await eventually(() => alone.streamBounds('split'))])
    expect(bounds === undefined || !bounds.isCertain || bounds.last >= stored).toBe(true);
  await Promise.all([alone.close(), bystander.close(), bus.close()]);
}, 240_000);

test('while one server after the other is killed, whatever was acknowledged is read once and in order', async () => {
  const bus = await Bus.connect({ url: cluster.url, name: 'counting', replicas: 3 }, log);
  const bucket = await eventually(() => bus.keyed(BUCKET));
  const acknowledged = new Map<number, number>();
  let sent = 0;
  let isOver = false;
  // A copy catches up for certain only while nothing is added.
  let isPaused = false;
  // One message after the other: after an error, a message may or may not be stored, so its number may be missing.
  const publishing = (async () => {
    while (!isOver) {
      if (isPaused) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      sent += 1;
      const number = sent;
      try {
        acknowledged.set(await bus.publish(STREAM, Buffer.from(String(number)), 2_000), number);
      } catch {
        // It may be stored or not, and counts as neither.
      }
    }
  })();
  const read = new Map<number, number>();
  const reading = (async () => {
    const reader = bus.reader(STREAM, 1);
    while (!isOver || [...acknowledged.keys()].some((sequence) => !read.has(sequence))) {
      const take = ({ sequence, bytes }: { readonly sequence: number; readonly bytes: Uint8Array }) => {
        expect(sequence).toBe(read.size + 1);
        read.set(sequence, Number(Buffer.from(bytes).toString()));
        return true;
      };
      await reader.read(500, 1_000, take).catch((error: unknown) => {
        if (!isRetryable(error)) throw error;
      });
    }
    await reader.close();
  })();
  let revision = 0;
  for (const server of cluster.servers) {
    const before = acknowledged.size;
    await server.kill();
    // With two of three, everything continues.
    await eventually(async () => expect(acknowledged.size).toBeGreaterThan(before + 100));
    revision = await eventually(() => bucket.put('key', Buffer.from(String(before)), revision));
    await server.restart();
    isPaused = true;
    await untilCopied(server, [STREAM, `KV_${BUCKET}`]);
    isPaused = false;
    expect(Buffer.from((await eventually(() => bucket.get('key')))?.bytes ?? []).toString()).toBe(
      String(before),
    );
  }
  isOver = true;
  await Promise.all([publishing, reading]);
  const differing = [...acknowledged].filter(([sequence, number]) => read.get(sequence) !== number);
  expect(differing).toEqual([]);
  expect(acknowledged.size).toBeGreaterThan(300);
  await bus.close();
}, 600_000);

function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true;
}
