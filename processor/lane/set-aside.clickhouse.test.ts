import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import { type Event, subjectOf } from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { foldMessage } from '../fold/fold.ts';
import { SiteError, sitesSetAside } from '../fold/set-aside.ts';
import { lettersOn, pathsIn, runDeadLetters } from '../testing/dead-letters.ts';
import { answering, type LaneWorld, type RunningLane, startLaneWorld } from '../testing/lane-world.ts';
import { messageOf } from '../testing/run.ts';
import { decodeLaneRecord, LANES_BUCKET, laneKeyOf } from './lane-record.ts';
import { type FoldMessage, SliceTasks } from './slice-tasks.ts';
import type { TaskThread } from './worker-handle.ts';

const LANE = 0;
const HOSTILE = 'hostile';
let world: LaneWorld;
let published = 0;

beforeAll(async () => {
  world = await startLaneWorld('set_aside_test');
  await world.open(LANE);
});
afterEach(() => world.stopLanes());
afterAll(() => world.stop());

/** Folds everything but events of the hostile site on this path, in the middle of whose message it fails. */
function failingAt(path: string, isInSession: boolean): FoldMessage {
  return (state, sequence, bytes, batch, view) => {
    const folded = foldMessage(state, sequence, bytes, batch, view);
    const isLeftOut = sitesSetAside(state.setAside, sequence)?.has(HOSTILE);
    if (!isLeftOut && bytes.includes(path))
      throw new SiteError(storedId(HOSTILE), isInSession, new RangeError('too large'));
    return folded;
  };
}

/** A thread of this process that does a worker thread's work, with another fold. */
function threadOf(fold: FoldMessage): () => TaskThread {
  return () => {
    const tasks = new SliceTasks(fold);
    return {
      run: async (task, { transferList }) =>
        tasks.run(structuredClone(task, { transfer: transferList ?? [] })),
      destroy: async () => {},
    };
  };
}

function event(projectId: string, path: string, more: Partial<Event> = {}): Event {
  const nowMs = Date.now();
  const deviceId = `${projectId}${path}`.padEnd(32, '0').slice(0, 32);
  return plainEvent({
    projectId: storedId(projectId),
    path,
    deviceId,
    sessionId: sessionIdOf(path),
    occurredAtMs: nowMs,
    receivedAtMs: nowMs,
    ...more,
  });
}

function sessionIdOf(path: string): string {
  return Buffer.from(path).toString('hex').padEnd(32, '0').slice(0, 32);
}

async function publish(...events: readonly Event[]): Promise<number> {
  published += 1;
  return world.bus.publish(subjectOf(LANE), messageOf(events, published), 5_000);
}

async function stored(path: string): Promise<string> {
  const rows = await world.store.query<{ found: string }>(
    `SELECT concat(toString((SELECT count() FROM events WHERE name = 'screen_view' AND path = {path:String})), ' ',
       toString((SELECT sum(sign * screenViews) FROM sessions WHERE entryPath = {path:String}))) AS found`,
    { path },
  );
  return rows[0]?.found ?? '';
}

const start = (fold: FoldMessage) =>
  world.start({ lane: LANE, instance: 'one', isAlone: true, taskThread: threadOf(fold) });

async function storedOnce(path: string): Promise<void> {
  await until(path, async () => ((await stored(path)) === '1 1' ? true : undefined));
}

function expectNoFailures({ metrics }: RunningLane): void {
  expect(metrics.failures.value).toBe(0);
}

test('an event that cannot be folded becomes a dead letter; all others of its message are stored, and the lane continues', async () => {
  const lane = await start(failingAt('/poison', false));
  await answering(lane);
  await publish(event(HOSTILE, '/hostile-before'), event('shop', '/shop-before'));
  await publish(event('shop', '/shop-beside'), event(HOSTILE, '/poison'), event(HOSTILE, '/beside-poison'));
  await publish(event(HOSTILE, '/hostile-behind'), event('shop', '/shop-behind'));
  for (const path of ['/hostile-before', '/shop-before', '/shop-beside', '/hostile-behind', '/shop-behind'])
    await storedOnce(path);
  const found = await lettersOn(world.bus);
  expect(found.map(pathsIn)).toEqual([['/poison', '/beside-poison']]);
  expect(found[0]).toMatchObject({ stream: 'events', partition: LANE, reason: 'RangeError: too large' });
  expect([lane.metrics.siteFailures.value, lane.metrics.setAside.value]).toEqual([1, 2]);
  expectNoFailures(lane);
  await lane.stop();

  // The next owner leaves out the same, and events that can be folded by now are put back, once.
  const next = await start(foldMessage);
  await answering(next);
  expect(await runDeadLetters(world.busUrl, 'replay')).toContain('1 replayed, 0 left');
  await storedOnce('/poison');
  await storedOnce('/beside-poison');
  expect(await stored('/hostile-before')).toBe('1 1');
  await next.stop();
});

test('a site that fails in its sessions is left out since the last flush, and its owner can see how much', async () => {
  const lane = await start(failingAt('/bad-session', true));
  await answering(lane);
  const sequence = await publish(event('shop', '/shop-2'), event(HOSTILE, '/bad-session'));
  await publish(event('shop', '/shop-3'));
  await storedOnce('/shop-2');
  await storedOnce('/shop-3');
  expect(await stored('/bad-session')).toBe('0 0');
  const record = await (await world.bus.keyed(LANES_BUCKET)).get(laneKeyOf(LANE));
  expect(decodeLaneRecord(record?.bytes ?? Buffer.of()).setAside).toContainEqual(
    expect.objectContaining({
      projectId: HOSTILE,
      last: expect.any(Number),
      reason: 'RangeError: too large',
    }),
  );
  expect((await lettersOn(world.bus)).map((letter) => [letter.sequence, pathsIn(letter)])).toContainEqual([
    sequence,
    ['/bad-session'],
  ]);
  const tallies = () =>
    world.store.query<{ count: number }>(
      `SELECT sum(count) AS count FROM (SELECT argMax(count, version) AS count FROM tallies
       WHERE projectId = {site:String} AND reason = 'set-aside:events' GROUP BY projectId, id)`,
      { site: HOSTILE },
    );
  await until('the count', async () => (Number((await tallies())[0]?.count) === 3 ? true : undefined));
  expectNoFailures(lane);
  await lane.stop();
});

test('a lane that fails again and again says so until something of it reaches the store', async () => {
  let isBroken = true;
  const lane = await start((state, sequence, bytes, batch, view) => {
    if (bytes.includes('/ours-again') && isBroken) throw new Error('our own mistake');
    return foldMessage(state, sequence, bytes, batch, view);
  });
  await answering(lane);
  expect(lane.supervisor.isFailing).toBe(false);
  await publish(event('shop', '/ours-again'));
  await until('the lane to fail', () => lane.supervisor.isFailing || undefined);
  expect(lane.metrics.failures.value).toBeGreaterThanOrEqual(2);
  isBroken = false;
  await storedOnce('/ours-again');
  await until('the lane to recover', () => !lane.supervisor.isFailing || undefined);
  await lane.stop();
});

test('a failure that is no site stops the lane, which restarts and counts it', async () => {
  const lane = await start((state, sequence, bytes, batch, view) => {
    if (bytes.includes('/ours') && lane.metrics.failures.value === 0) throw new Error('our own mistake');
    return foldMessage(state, sequence, bytes, batch, view);
  });
  await answering(lane);
  const before = await lettersOn(world.bus);
  await publish(event('shop', '/ours'));
  await storedOnce('/ours');
  expect(lane.metrics.failures.value).toBe(1);
  expect(await lettersOn(world.bus)).toEqual(before);
  await lane.stop();
});
