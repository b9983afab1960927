import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { makeAccounts } from '../golden/asker.ts';
import { AGENTS, BUSY_SITE, type GoldenSite, SITES } from '../golden/fixtures.ts';
import { Sender } from '../golden/sender.ts';
import { startBusySite } from '../golden/side-traffic.ts';
import { PARTS, type Sent, siteTraffic } from '../golden/visits.ts';
import { admin, kill, startAdminOf } from './admin-command.ts';
import {
  countOf,
  figuresOf,
  listsOf,
  OF_PAIR,
  oddRowsOf,
  rowsOf,
  ServicePair,
  startOrders,
  tablesLike,
  withoutGiven,
} from './service-pair.ts';

// A whole backup of a service that runs and takes events, and its restore into a new one: every answer is the same, and
// later events count as they would have counted. Nothing is doubled or missing if a backup, a restore or the processor
// is killed midway.

const OF_PROCESSES = { ...OF_PAIR, LEASE_MS: '2000' };
const ASKED: readonly GoldenSite[] = SITES.slice(1, 2);
const WAIT_MAX_MS = 120_000;
const random = new SeededRandom(20_262);
const nowMs = Date.now();
const traffic = ASKED.flatMap((site) => siteTraffic(random, site, nowMs));
const last = PARTS - 1;
const OPEN = 'open-device';
/** Questions that both services have answered for a site without events. */
const EMPTY = [
  'metrics?range=30d',
  'metrics?range=12m&interval=month',
  'pages?range=30d',
  'country?range=12m',
].map((path) => `/insights/demo/${path}`);
/** Sent before the backup and after the restore, and counted once. */
const CLICK = visit(70, 'click', { eventId: 'once' });

/** Those that came while the backup was made. */
const orders: Sent[] = [];

const scratch = mkdtempSync(join(tmpdir(), 'footfall-backup-'));
const folder = join(scratch, 'backup');
let before: Cluster;
let after: Cluster;
let pair: ServicePair;
const client = new Client(8, 40_000);

beforeAll(async () => {
  const options = {
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: OF_PROCESSES,
  } as const;
  before = await Cluster.start({
    ...options,
    prepare: async (ground) => {
      await makeAccounts(ground, [...ASKED, BUSY_SITE]);
    },
  });
  // The processor of the new service dies in the middle of taking over the rows.
  after = await Cluster.start({
    ...options,
    envOf: { processor: { CRASH_POINT: 'restore:after-table:after=3' } },
  });
  await Promise.all([before.ready('web'), after.ready('web')]);
  pair = new ServicePair({ before, after }, { random, processors: ['processor'], settling: 1 });
  await pair.send(
    before,
    traffic.filter(({ part }) => part < last),
  );
  // The new service has this site, too, and has answered that it is empty.
  const days = [0.1, 3, 40].map((ago) => visit(ago * 86_400, 'screen_view', {}, 'demo'));
  await pair.send(before, [CLICK, visit(60), visit(50), ...days]);
  await manage('projects/berlin/goals', { name: 'Buying', type: 'page', path: '/buy' });
  await manage('projects/berlin/segments', {
    name: 'Searching',
    filters: [{ name: 'referrer_type', operator: 'is', value: ['search'] }],
  });
  await manage('projects/berlin/gsc/rows', {
    rows: [
      {
        date: '2026-11-01',
        query: 'shoes',
        page: 'https://shop.example/',
        clicks: 3,
        impressions: 9,
        position: 2.5,
      },
    ],
  });
}, 120_000);

afterAll(async () => {
  client.close();
  await Promise.all([before?.stop(), after?.stop()]);
  rmSync(scratch, { recursive: true, force: true });
});

test('a backup that is killed goes on with the same instant, while events come in', async () => {
  const endBusy = startBusySite(new Sender(before, ['web']), random);
  const endOrders = startOrders(before, BUSY_SITE.id, orders);
  await kill(before, ['backup', folder, '--events'], () => countFiles('events') > 2);
  expect(existsSync(join(folder, 'manifest.json'))).toBe(false);
  await expectFailure(after, ['restore', folder], 'has no manifest.json');
  const kept = readFileSync(join(folder, 'unfinished.json'), 'utf8');
  const written = statSync(join(folder, 'profiles/all.parquet')).mtimeMs;
  const { stderr } = await admin(before, ['backup', folder, '--events']);
  expect(stderr).toContain('going on with the backup of ');
  expect(stderr).toMatch(/^events: written (\d+) of \1 files, /m);
  await Promise.all([endBusy(), endOrders()]);
  expect(JSON.parse(manifest()).backupId).toBe(JSON.parse(kept).backupId);
  expect(statSync(join(folder, 'profiles/all.parquet')).mtimeMs).toBe(written);
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const { mode } = statSync(join(folder, path));
    expect([path, (mode & 0o777).toString(8)]).toEqual([path, path.includes('.') ? '600' : '700']);
  }
  await expectFailure(before, ['backup', folder, '--events'], 'already is a complete backup');
  // Nothing of it is left in the store.
  expect(await tablesLike(before, 'backup_')).toEqual([]);
});

test('a disk that is full is named, and once it has room the same instant goes on', async ({ skip }) => {
  const small = join(scratch, 'small');
  mkdirSync(small);
  const mount = (options: string) => spawnSync('mount', [...options.split(' '), small]).status === 0;
  const isMounted = mount('-t tmpfs -o size=128k footfall-backup');
  if (!isMounted && process.env.CI === undefined) skip('only root can mount the small disk of this test');
  expect(isMounted).toBe(true);
  try {
    const why = `the disk of ${small} is full; make room and repeat the command, which goes on with what is missing`;
    await expectFailure(before, ['backup', small, '--events'], why);
    const written = readdirSync(small, { recursive: true, encoding: 'utf8' });
    expect(written.filter((name) => name.endsWith('.part') || name === 'manifest.json')).toEqual([]);
    const kept = readFileSync(join(small, 'unfinished.json'), 'utf8');
    expect(mount('-o remount,size=64m')).toBe(true);
    const { stderr } = await admin(before, ['backup', small, '--events']);
    expect(stderr).toContain('going on with the backup of ');
    const { backupId } = JSON.parse(readFileSync(join(small, 'manifest.json'), 'utf8'));
    expect(backupId).toBe(JSON.parse(kept).backupId);
  } finally {
    spawnSync('umount', ['--lazy', small]);
  }
});

test('what is damaged, missing, of another release or not empty is refused, and nothing is written', async () => {
  const events = readdirSync(join(folder, 'events'));
  const file = join(folder, 'events', events[0] ?? '');
  const whole = readFileSync(file);
  const flipped = Buffer.from(whole);
  flipped.writeUInt8(flipped.readUInt8(100) ^ 1, 100);
  writeFileSync(file, flipped);
  await expectFailure(after, ['restore', folder], `${file} is damaged`);
  rmSync(file);
  await expectFailure(after, ['restore', folder], `${file} is missing`);
  writeFileSync(file, whole);
  const text = manifest();
  const path = join(folder, 'manifest.json');
  writeFileSync(path, text.replace('"version": 1', '"version": 4'));
  await expectFailure(after, ['restore', folder], 'has version 4, but this program reads versions 1, 2, 3');
  writeFileSync(path, text.replace('"rows": 3', '"rows": 4'));
  await expectFailure(after, ['restore', folder], 'is damaged or was edited');
  writeFileSync(path, text);
  await expectFailure(
    before,
    ['restore', folder, '--replace'],
    'this service is not empty: its table profiles has rows',
  );
  expect(await countOf(after, 'events')).toBe(0);
  expect(await tablesLike(after, 'restored_')).toEqual([]);
});

test('a restore that is killed leaves an empty service, and is complete once it is repeated', async () => {
  // Cached answers about the empty site must not stay.
  for (const path of EMPTY) await pair.ask(after, path, after.credentials.clients.root);
  await kill(after, ['restore', folder], async () => (await tablesLike(after, 'restored_')).length > 7);
  expect(await countOf(after, 'events')).toBe(0);
  expect((await after.processorHealth('processor')).answering).toBe(1);
  // The processor and the command die when some of the tables have their rows. The next processor first finishes the begun
  // restore, and the command continues with the control records.
  const isDead = () => !after.process('processor').running;
  await kill(after, ['restore', folder], isDead);
  expect(after.process('processor').log()).toContain('crash point restore:after-table reached');
  await after.restart('processor', { CRASH_POINT: '' });
  const { tables } = JSON.parse(manifest());
  const rows = Number(tables.find(({ name }: { name: string }) => name === 'events').rows);
  await waitFor('the rows', async () => (await countOf(after, 'sessions')) > 0, WAIT_MAX_MS);
  expect(await countOf(after, 'events')).toBe(rows);
  const { stdout, stderr } = await admin(after, ['restore', folder]);
  expect(stderr).not.toContain('events: read');
  expect(stdout).toMatch(new RegExp(`^events +${rows}$`, 'm'));
  expect(await countOf(after, 'events')).toBe(rows);
  expect(await tablesLike(after, 'restored_')).toEqual([]);
  await expectFailure(after, ['restore', folder, '--replace'], 'this service is not empty');
});

test('every answer is as it was', async () => {
  await pair.expectSame([...EMPTY, ...figuresOf(ASKED), ...listsOf(ASKED)]);
});

test('an instant has each event with its session, also of what came during the backup', async () => {
  const { paid, odd } = await oddRowsOf(after, BUSY_SITE.id);
  expect(odd).toEqual([]);
  // An order is there with its revenue, or neither is.
  expect(paid).toBeGreaterThan(0);
  expect(paid).toBeLessThan(orders.length);
});

test('what comes then counts as it would have counted', async () => {
  // A new collector knows nothing of the visits that the one before has seen.
  await before.restart('web');
  await before.ready('web');
  // Includes repeats of earlier events and orders, late events, refunds, and a visit that continues.
  const later = [...traffic.filter(({ part }) => part === last), CLICK, visit(40), visit(30)];
  const repeated = [...traffic.filter(({ part, isPayment }) => part < last && isPayment), ...orders];
  await pair.sendToBoth([...later, ...repeated.filter(hasOrder)]);
  await pair.expectSame([...EMPTY, ...figuresOf(ASKED)], withoutGiven);
  const of = encodeURIComponent(JSON.stringify([{ name: 'device_id', operator: 'is', value: [OPEN] }]));
  const sessions = await Promise.all(
    [before, after].map((cluster) => pair.ask(cluster, `/insights/berlin/sessions?range=30d&filters=${of}`)),
  );
  const [first, second] = sessions.map(({ body }) => (body as { id: string }[]).map(({ id }) => id));
  expect(first).toHaveLength(1);
  expect(second).toEqual(first);
  const query = `SELECT count() AS n, uniqExact(orderId) AS kinds FROM events WHERE projectId = '${BUSY_SITE.id}' AND orderId != ''`;
  const counted = await rowsOf(after, query);
  expect(counted).toEqual([{ n: orders.length, kinds: orders.length }]);
});

/** An event of the continuing visit, `secondsAgo` before this test began. */
function visit(secondsAgo: number, name = 'screen_view', more: object = {}, site = 'berlin'): Sent {
  const properties = { __deviceId: OPEN, __path: '/docs', __timestamp: nowMs - secondsAgo * 1000 };
  const body = { type: 'track', projectId: site, payload: { name, properties, ...more } };
  return { part: 0, site, agent: AGENTS[0], body, isEvent: true, isPayment: false };
}

function hasOrder({ body }: Sent): boolean {
  return JSON.stringify(body).includes('__orderId');
}

async function manage(path: string, body: object): Promise<void> {
  const { status, body: answer } = await client.post(
    `${before.url('web')}/manage/${path}`,
    before.credentials.clients.root,
    {},
    JSON.stringify(body),
  );
  if (status !== 200) throw new Error(`/manage/${path}: ${status} ${JSON.stringify(answer)}`);
}

async function expectFailure(cluster: Cluster, args: readonly string[], text: string): Promise<void> {
  const { code, stderr } = await startAdminOf(cluster, args).ended;
  expect([code, stderr]).toEqual([1, expect.stringContaining(text)]);
}

function countFiles(table: string): number {
  const path = join(folder, table);
  return existsSync(path) ? readdirSync(path).filter((name) => name.endsWith('.parquet')).length : 0;
}

function manifest(): string {
  return readFileSync(join(folder, 'manifest.json'), 'utf8');
}
