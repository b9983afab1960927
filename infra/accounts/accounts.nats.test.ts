import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bus } from '../bus/bus.ts';
import { createLogger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { Accounts, CONTROL_BUCKET, encodeRecord, teamKeyOf } from './accounts.ts';

const TEAMS = 10;
const log = createLogger('test', 'silent');
const metrics = new Metrics();
let nats: NatsServer;
let bus: Bus;

async function addTeam(id: string): Promise<void> {
  const bucket = await bus.keyed(CONTROL_BUCKET);
  const team = { id, name: id, createdAt: '2026-01-05T08:00:00.000Z' };
  await bucket.put(teamKeyOf(id), encodeRecord(team), 0);
}

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'test', metrics }, log);
  for (let team = 0; team < TEAMS; team += 1) await addTeam(`team-${team}`);
});
afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});

const received = () => metrics.counter('footfall_bus_mirror_messages_total', '').value;

test('all accounts of a connection are one copy, which the last one that stops ends', async () => {
  const [first, second] = await Promise.all([Accounts.open(bus, log), Accounts.open(bus, log)]);
  const third = await Accounts.open(bus, log);
  expect(received()).toBe(TEAMS);
  for (const accounts of [first, second, third]) expect([...accounts.teams.entries()]).toHaveLength(TEAMS);

  // A second stop of the same one counts for nothing.
  for (const accounts of [first, first, first, second]) accounts.stop();
  await addTeam('later');
  await expect.poll(() => third.team('later')?.id).toBe('later');
  expect(received()).toBe(TEAMS + 1);

  third.stop();
  await addTeam('unseen');
  const again = await Accounts.open(bus, log);
  expect([third.team('unseen'), again.team('unseen')?.id]).toEqual([undefined, 'unseen']);
  expect(received()).toBe(TEAMS + 1 + TEAMS + 2);
  again.stop();
});

test('a copy that could not be read is read anew', async () => {
  const other = await Bus.connect({ url: nats.url, name: 'other', metrics }, log);
  await nats.kill();
  const opened = await Promise.allSettled([Accounts.open(other, log), Accounts.open(other, log)]);
  expect(opened.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await nats.restart();
  await expect.poll(() => other.connected).toBe(true);
  const accounts = await Accounts.open(other, log);
  expect(accounts.team('later')?.id).toBe('later');
  accounts.stop();
  await other.close();
}, 60_000);
