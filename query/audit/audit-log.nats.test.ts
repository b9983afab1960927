import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { ManualClock } from '../../infra/clock.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { connectBus } from '../../ingest/testing/collector.ts';
import type { AuditEntry } from './audit-entry.ts';
import { AUDIT_AGE_MAX_MS, type AuditedAction, type AuditList, AuditLog } from './audit-log.ts';

const LIMITS = { changes: 5, rejected: 3, scanned: 100 };
const ALL = Number.MAX_SAFE_INTEGER;

let nats: NatsServer;
let bus: Bus;
let log: AuditLog;
const clock = new ManualClock(Date.UTC(2026, 2, 1));

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  log = await AuditLog.open(bus, clock, LIMITS);
});

afterAll(async () => {
  await bus.close();
  await nats.stop();
});

function action(name: string): AuditedAction {
  return {
    actor: 'admin',
    clientId: null,
    clientName: null,
    action: name,
    projectId: null,
    ids: {},
    fields: [],
  };
}

async function done(team: string, name: string): Promise<void> {
  const begun = await log.begin(team, action(name));
  await log.end(begun, { status: 200, projectId: null, made: null, profileDigest: null });
}

async function listed(team: string, list: AuditList = 'changes'): Promise<readonly AuditEntry[]> {
  return (await log.page(team, list, { before: ALL, limit: 100, isWanted: () => true })).entries;
}

const namesOf = (entries: readonly AuditEntry[]) => entries.map((entry) => entry.action);

test('an entry is there before its action ends, without a status, and stays so when it never ends', async () => {
  const begun = await log.begin('interrupted', action('first'));
  expect(await listed('interrupted')).toEqual([begun.entry]);
  expect(begun.entry.status).toBeNull();
  await done('interrupted', 'second');
  expect((await listed('interrupted')).map(({ action, status }) => [action, status])).toEqual([
    ['second', 200],
    ['first', null],
  ]);
});

test('a team has the last entries only, and they push out nothing of another team or list', async () => {
  await done('small', 'theirs');
  await log.rejected('busy', action('denied'), 403);
  for (let number = 0; number < 12; number += 1) await done('busy', `change ${number}`);
  expect(namesOf(await listed('busy'))).toEqual([11, 10, 9, 8, 7].map((number) => `change ${number}`));
  expect(namesOf(await listed('busy', 'rejected'))).toEqual(['denied']);
  expect(namesOf(await listed('small'))).toEqual(['theirs']);
});

test('a page that the ring has overtaken ends, and none has an entry twice', async () => {
  for (let number = 0; number < 5; number += 1) await done('turning', `change ${number}`);
  const first = await log.page('turning', 'changes', { before: ALL, limit: 2, isWanted: () => true });
  for (let number = 5; number < 7; number += 1) await done('turning', `change ${number}`);
  const before = must(first.next, 'a next page');
  const rest = await log.page('turning', 'changes', { before, limit: 10, isWanted: () => true });
  expect(namesOf([...first.entries, ...rest.entries])).toEqual(['change 4', 'change 3', 'change 2']);
  expect(rest.next).toBeUndefined();
});

test('the outcome of an action whose entry was pushed out replaces no other entry', async () => {
  const slow = await log.begin('slow', action('slow'));
  for (let number = 0; number < 5; number += 1) await done('slow', `change ${number}`);
  await log.end(slow, { status: 200, projectId: null, made: null, profileDigest: null });
  expect(namesOf(await listed('slow'))).toEqual([4, 3, 2, 1, 0].map((number) => `change ${number}`));
});

test('two processes that write at once leave every entry, each under its own number', async () => {
  const large = { ...LIMITS, changes: 100 };
  const logs = [await AuditLog.open(bus, clock, large), await AuditLog.open(bus, clock, large)];
  await Promise.all(
    Array.from({ length: 60 }, (_, index) => logs[index % 2]?.begin('both', action(`change ${index}`))),
  );
  const page = await logs[0]?.page('both', 'changes', { before: ALL, limit: 100, isWanted: () => true });
  const numbers = must(page, 'a page').entries.map(({ number }) => number);
  expect(numbers).toEqual(Array.from({ length: 60 }, (_, index) => 59 - index));
  expect(new Set(namesOf(must(page, 'a page').entries)).size).toBe(60);
});

test('a page looks at a limited number of entries, and the pages together have all that are wanted', async () => {
  const short = await AuditLog.open(bus, clock, { changes: 20, rejected: 3, scanned: 6 });
  for (let number = 0; number < 20; number += 1) await short.begin('sparse', action(`change ${number}`));
  const isWanted = (entry: AuditEntry) => ['change 17', 'change 2'].includes(entry.action);
  const pages: string[][] = [];
  for (let before: number | undefined = ALL; before !== undefined; ) {
    const page = await short.page('sparse', 'changes', { before, limit: 10, isWanted });
    pages.push(namesOf(page.entries));
    before = page.next;
  }
  expect(pages).toEqual([['change 17'], [], ['change 2'], []]);
});

test('the bucket forgets entries after 400 days', async () => {
  expect(AUDIT_AGE_MAX_MS).toBe(400 * DAY_MS);
  const raw = await bus.ask('$JS.API.STREAM.INFO.KV_audit', new Uint8Array(), 2_000);
  const { config } = JSON.parse(Buffer.from(raw).toString('utf8'));
  expect(config).toMatchObject({ max_age: 400 * 86_400 * 1e9, storage: 'file' });
});
