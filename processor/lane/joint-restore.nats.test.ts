import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bus } from '../../infra/bus/bus.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { createLogger } from '../../infra/log.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { JointRestore } from './joint-restore.ts';
import {
  encodeLaneRecord,
  FIRST_CHECKPOINT,
  freeLaneRecord,
  LANES_BUCKET,
  LANES_BUCKET_OPTIONS,
  laneKeyOf,
} from './lane-record.ts';

const LANES = 3;
const log = createLogger('test', 'silent');
let server: NatsServer;
let bus: Bus;
let records: KeyedBytes;

beforeAll(async () => {
  server = await startNatsServer();
  bus = await Bus.connect({ url: server.url, name: 'test' }, log);
  records = await bus.keyed(LANES_BUCKET, LANES_BUCKET_OPTIONS);
});
afterAll(async () => {
  await bus.close();
  await server.stop();
});

/** Writes the record of a lane that waits in an attempt. */
async function wait(lane: number, attempt: string): Promise<void> {
  const restore = { attempt, backupId: 'aaaaaaaa', flushNumber: 7, clockMs: 1, lanes: LANES };
  const record = encodeLaneRecord({ ...freeLaneRecord(FIRST_CHECKPOINT), restore });
  const key = laneKeyOf(lane);
  await records.put(key, record, (await records.get(key))?.revision ?? 0);
}

const jointOf = (attempt: string) => new JointRestore(records, { attempt, lanes: LANES });

test('a restore begins when all lanes wait for it, and is complete once', async () => {
  const joint = jointOf('first');
  for (let lane = 0; lane < LANES; lane += 1) {
    expect(await joint.begin()).toBeUndefined();
    await wait(lane, 'first');
  }
  expect(await joint.decided()).toBeUndefined();
  expect(await joint.begin()).toBe('begun');
  // The decision stays, whether the owner begins again or a lane has waited for too long.
  expect(await jointOf('first').begin()).toBe('begun');
  expect(await jointOf('first').decline()).toBe('begun');
  await joint.complete();
  await jointOf('first').complete();
  for (const decided of [joint.decided(), joint.begin(), joint.decline()])
    expect(await decided).toBe('complete');
});

test('lanes that wait for another attempt do not count, and one that was declined does not begin', async () => {
  await wait(0, 'second');
  const joint = jointOf('second');
  expect(await joint.begin()).toBeUndefined();
  expect(await joint.decline()).toBe('declined');
  for (let lane = 1; lane < LANES; lane += 1) await wait(lane, 'second');
  expect(await joint.begin()).toBe('declined');
});

test('of one that begins and one that declines at once, one decides', async () => {
  for (let turn = 0; turn < 20; turn += 1) {
    const attempt = `turn-${turn}`;
    for (let lane = 0; lane < LANES; lane += 1) await wait(lane, attempt);
    const [begun, declined] = await Promise.all([jointOf(attempt).begin(), jointOf(attempt).decline()]);
    expect(begun).toBe(declined);
    expect(await jointOf(attempt).decided()).toBe(begun);
  }
});
