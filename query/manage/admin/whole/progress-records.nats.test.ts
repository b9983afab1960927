import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bus } from '../../../../infra/bus/bus.ts';
import { encodeJson } from '../../../../infra/bus/mirror.ts';
import { createLogger } from '../../../../infra/log.ts';
import { type NatsServer, startNatsServer } from '../../../../infra/testing/nats-server.ts';
import { LaneOwners } from './lane-owners.ts';
import { readProgress, restoreProgress } from './progress-records.ts';

const log = createLogger('test', 'silent');
const servers: NatsServer[] = [];
let source: Bus;
let target: Bus;

beforeAll(async () => {
  servers.push(...(await Promise.all([startNatsServer(), startNatsServer()])));
  const [from, to] = servers.map(({ url }) => Bus.connect({ url, name: 'test' }, log));
  source = (await from) as Bus;
  target = (await to) as Bus;
});
afterAll(async () => {
  await source.close();
  await target.close();
  await Promise.all(servers.map((server) => server.stop()));
});

test('how far deliveries and Search Console have come is the same on another bus, however often it is restored', async () => {
  for (const [bucket, key] of [
    ['deliveries', 'integration.b'],
    ['deliveries', 'integration.a'],
    ['search-console-syncs', 'gsc.shop'],
  ] as const)
    await (await source.keyed(bucket)).put(key, encodeJson({ key, flushed: [12], none: null }), 0);
  const records = await readProgress(source);
  expect(records.map(({ key }) => key)).toEqual(['integration.a', 'integration.b', 'gsc.shop']);
  for (let repeat = 0; repeat < 2; repeat += 1) {
    await restoreProgress(target, records);
    expect(await readProgress(target)).toEqual(records);
  }
});

test('without a processor that answers, a backup says what to do', async () => {
  const owners = new LaneOwners(target, 700);
  await expect(owners.ask({ kind: 'drop', backupId: 'aaaaaaaa' }, 'done')).rejects.toThrow(
    'the processor does not answer; check that the service runs, then repeat the command',
  );
});
