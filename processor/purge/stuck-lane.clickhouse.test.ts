import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONTROL_BUCKET, type Site, siteKeyOf, siteSchema } from '../../infra/accounts/accounts.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { Metrics } from '../../infra/metrics.ts';
import { PerShard } from '../../infra/store/store-shards.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import { ALIASES_BUCKET, entityStreamOf } from '../../ingest/entity-update.ts';
import { laneOf, routingKeyOf, streamOf, subjectOf } from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { erasureKeyOf, erasureSchema, profileDigest } from '../erasure.ts';
import { LANES_BUCKET } from '../lane/lane-record.ts';
import { createLeaderJobMetrics } from '../leader-job/leader-job-metrics.ts';
import { testLeader } from '../leader-job/testing/test-leader.ts';
import { RollupJob } from '../rollups/rollup-job.ts';
import { createRollupMetrics } from '../rollups/rollup-metrics.ts';
import { answering, type LaneWorld, type RunningLane, startLaneWorld } from '../testing/lane-world.ts';
import { messageOf } from '../testing/run.ts';
import { createPurgeMetrics, type PurgeMetrics } from './purge-metrics.ts';
import { Purger } from './purger.ts';

const LANES = 2;
const STUCK = 1;
const NOW_MS = Date.now();
const PERSON = 'person';
const DELETED = 'deleted';
const ERASING = 'erasing';
const SHORT = 'short';

let world: LaneWorld;
let control: KeyedBytes;
let published = 0;
const running: RunningLane[] = [];

beforeAll(async () => {
  world = await startLaneWorld('stuck_lane_test');
  control = await world.bus.keyed(CONTROL_BUCKET);
  for (let lane = 0; lane < LANES; lane += 1) {
    await world.open(lane);
    running.push(await world.start({ lane, instance: 'one' }));
  }
  for (const started of running) await answering(started);
});

afterAll(() => world.stop());

/** Records one event of a site in each lane, and waits until they are in the store. */
async function recordInEach(projectId: string, occurredAtMs: number): Promise<void> {
  const found = new Set<number>();
  for (let device = 1; found.size < LANES; device += 1) {
    const deviceId = `${device}`.padStart(32, '0');
    const event = plainEvent({
      projectId: storedId(projectId),
      deviceId,
      sessionId: `${projectId.length}${device}`.padStart(32, '0'),
      profileId: PERSON,
      occurredAtMs,
      receivedAtMs: occurredAtMs,
    });
    const lane = laneOf(storedId(projectId), routingKeyOf(event), { lanes: LANES, storeShards: 1 });
    if (found.has(lane)) continue;
    found.add(lane);
    published += 1;
    await world.bus.publish(subjectOf(lane), messageOf([event], published), 5_000);
  }
  await until(`events of ${projectId}`, async () => (await lanesOf(projectId)).length === LANES || undefined);
}

/** The lanes that have events of a site in the store. */
async function lanesOf(projectId: string): Promise<readonly number[]> {
  const rows = await world.store.query<{ partition: number }>(
    `SELECT DISTINCT partition FROM events WHERE projectId = {projectId:String} AND name NOT LIKE 'session_%'
     ORDER BY partition`,
    { projectId },
  );
  return rows.map(({ partition }) => partition);
}

async function putSite(id: string, fields: Partial<Site>): Promise<void> {
  const at = new Date(NOW_MS - 60_000).toISOString();
  const site = siteSchema.parse({ id, teamId: 'team', name: id, createdAt: at, updatedAt: at, ...fields });
  await control.put(siteKeyOf(id), encodeJson(site), 0);
}

async function deletionOf(id: string): Promise<Site['deletion']> {
  const entry = await control.get(siteKeyOf(id));
  return siteSchema.parse(JSON.parse(Buffer.from(entry?.bytes ?? '').toString('utf8'))).deletion;
}

async function putErasure(id: string): Promise<void> {
  const at = new Date(NOW_MS).toISOString();
  const erasure = {
    id,
    teamId: 'team',
    projectId: ERASING,
    storedId: ERASING,
    status: 'waiting',
    profileId: PERSON,
    profileDigest: profileDigest(id, PERSON),
    createdAt: at,
    updatedAt: at,
  };
  await control.put(erasureKeyOf(id), encodeJson(erasureSchema.parse(erasure)), 0);
}

async function erasureStatus(id: string): Promise<string> {
  const entry = await control.get(erasureKeyOf(id));
  return erasureSchema.parse(JSON.parse(Buffer.from(entry?.bytes ?? '').toString('utf8'))).status;
}

function startPurger() {
  const lines: { readonly level: number; readonly msg: string; readonly lanes?: readonly number[] }[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString('utf8')));
      done();
    },
  });
  const metrics: PurgeMetrics = createPurgeMetrics(new Metrics());
  const jobMetrics = createLeaderJobMetrics(new Metrics(), 'purge');
  const start = async () => {
    const laneRecords = await world.bus.keyed(LANES_BUCKET);
    const shared = { laneRecords, lanes: LANES, nameOf: (lane: number) => lane };
    return Purger.start({
      ...testLeader('purge'),
      ...shared,
      bus: world.bus,
      control,
      aliases: await world.bus.keyed(ALIASES_BUCKET),
      stores: new PerShard([world.store]),
      rollups: new PerShard([
        new RollupJob({
          ...testLeader('rollup'),
          ...shared,
          store: world.store,
          intervalMs: 1_000,
          metrics: createRollupMetrics(new Metrics()),
        }),
      ]),
      log: pino({ level: 'info' }, sink),
      metrics,
      jobMetrics,
      answerTimeoutMs: 2_000,
    });
  };
  return { start, lines, metrics, jobMetrics };
}

/** The last messages of streams that erase commands go to, and ticks do not. */
async function lastMessages(): Promise<readonly number[]> {
  const streams = [streamOf(STUCK), entityStreamOf(0), entityStreamOf(STUCK)];
  const bounds = await Promise.all(streams.map((stream) => world.bus.streamBounds(stream)));
  return bounds.map(({ last }) => last);
}

test('a lane without an owner is reported and does not block other work, and everything completes once it is back', async () => {
  for (const projectId of [DELETED, ERASING]) await recordInEach(projectId, NOW_MS - DAY_MS);
  await recordInEach(SHORT, NOW_MS - 4 * DAY_MS);
  await running[STUCK]?.stop();
  const at = new Date(NOW_MS - 60_000).toISOString();
  const progress = { startedAt: null, finishedAt: null, step: '', rowsRemoved: {} };
  await putSite(DELETED, { deletion: { status: 'waiting', requestedAt: at, purgeAt: at, ...progress } });
  await putSite(SHORT, { retentionDays: 1 });
  const erasureId = randomUUID();
  await putErasure(erasureId);

  const { start, lines, metrics, jobMetrics } = startPurger();
  const purger = await start();
  try {
    await until('retention of the healthy lane', async () => {
      const left = await lanesOf(SHORT);
      return (left.length === 1 && left[0] === STUCK) || undefined;
    });
    await until('a further pass', () => jobMetrics.passes.value > 0 || undefined);
    const sent = await lastMessages();
    const passes = jobMetrics.passes.value;
    await until('three more passes', () => jobMetrics.passes.value >= passes + 3 || undefined);
    expect(await lastMessages()).toEqual(sent);
    expect(await deletionOf(DELETED)).toMatchObject({
      status: 'purging',
      step: 'waiting for a lane that does not answer',
    });
    expect(metrics.waitingSites.value).toBe(1);
    expect(metrics.waitingPeople.value).toBe(1);
    expect(metrics.stuckLanes.value).toBe(1);
    expect(metrics.postponed['lane-stuck'].value).toBeGreaterThan(0);
    expect(jobMetrics.failures.value).toBe(0);
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 40,
        lanes: [STUCK],
        msg: 'purge: lanes do not erase, going on without them',
      }),
    );

    await answering(await world.start({ lane: STUCK, instance: 'two' }));
    await until('the purge', async () => (await deletionOf(DELETED))?.status === 'purged' || undefined);
    await until('the erasure', async () => (await erasureStatus(erasureId)) === 'done' || undefined);
    await until('retention', async () => (await lanesOf(SHORT)).length === 0 || undefined);
    for (const projectId of [DELETED, ERASING]) expect(await lanesOf(projectId)).toEqual([]);
    await until(
      'the gauges',
      () => metrics.waitingSites.value + metrics.waitingPeople.value === 0 || undefined,
    );
    expect(metrics.stuckLanes.value).toBe(0);
  } finally {
    await purger.stop();
  }
});
