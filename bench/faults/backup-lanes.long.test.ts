import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { makeAccounts } from '../golden/asker.ts';
import { BUSY_SITE, type GoldenSite, SITES } from '../golden/fixtures.ts';
import { Sender } from '../golden/sender.ts';
import { startBusySite } from '../golden/side-traffic.ts';
import { PARTS, type Sent, siteTraffic } from '../golden/visits.ts';
import { admin, kill } from './admin-command.ts';
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

// A backup of everything of a service with three lanes that two processors share, and its restore into another such service. One processor dies
// in the middle of the first instant, the other when the tables of the second are kept; and both in the middle of taking over the rows.

const LANES = 3;
const PROCESSORS = ['one', 'two'];
const WAIT_MAX_MS = 60_000;
const ASKED: readonly GoldenSite[] = SITES.slice(1, 2);
const random = new SeededRandom(20_263);
const traffic = ASKED.flatMap((site) => siteTraffic(random, site, Date.now()));
const last = PARTS - 1;
/** Those that came while the backup was made. */
const orders: Sent[] = [];

const scratch = mkdtempSync(join(tmpdir(), 'footfall-backup-lanes-'));
const folder = join(scratch, 'backup');
let before: Cluster;
let after: Cluster;
let pair: ServicePair;

beforeAll(async () => {
  const start = (crashPointOf: Readonly<Record<string, string>>, sites: readonly GoldenSite[]) =>
    Cluster.start({
      hosts: { web: ['ingest', 'query'] },
      processors: PROCESSORS,
      withStore: true,
      env: {
        ...OF_PAIR,
        LANES: String(LANES),
        LEASE_MS: '2000',
      },
      envOf: Object.fromEntries(
        Object.entries(crashPointOf).map(([name, point]) => [name, { CRASH_POINT: point }]),
      ),
      prepare: async (ground) => {
        await makeAccounts(ground, sites);
      },
    });
  [before, after] = await Promise.all([
    start({ one: 'backup:after-keep', two: 'backup:after-hold' }, [...ASKED, BUSY_SITE]),
    // Whichever owns the first lane dies, and then the other one, which has it next.
    start({ one: 'restore:after-table:after=3', two: 'restore:after-table:after=3' }, []),
  ]);
  await Promise.all([before.ready('web'), after.ready('web')]);
  pair = new ServicePair({ before, after }, { random, processors: PROCESSORS, settling: 60 });
  await pair.send(
    before,
    traffic.filter(({ part }) => part < last),
  );
  for (const cluster of pair.both) await shared(cluster, PROCESSORS);
}, 120_000);

afterAll(async () => {
  await Promise.all([before?.stop(), after?.stop()]);
  rmSync(scratch, { recursive: true, force: true });
});

test('an instant in which a processor dies is taken again, also when its tables are kept, while events and orders come in', async () => {
  const endBusy = startBusySite(new Sender(before, ['web']), random);
  const endOrders = startOrders(before, BUSY_SITE.id, orders);
  const backup = admin(before, ['backup', folder, '--events']);
  const isDead = (name: string) => waitFor(`${name} dies`, () => !before.process(name).running, WAIT_MAX_MS);
  await Promise.all([isDead('one'), isDead('two')]);
  expect(before.process('one').log()).toContain('crash point backup:after-keep reached');
  expect(before.process('two').log()).toContain('crash point backup:after-hold reached');
  await before.restart('two', { CRASH_POINT: '' });
  const { stderr } = await backup;
  await Promise.all([endBusy(), endOrders()]);
  // Tables were kept, and not all lanes could confirm their pause.
  expect(stderr).toMatch(/^lane \d did not answer when it was asked to hold: taking another instant$/m);
  expect(stderr).toMatch(/^lane \d did not answer when it was asked to keep: taking another instant$/m);
  const { version, otherLanes, lane } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
  expect([version, otherLanes.length]).toEqual([1, LANES - 1]);
  for (const { flushNumber, clockMs } of [lane, ...otherLanes])
    expect([flushNumber > 0, clockMs > 0]).toEqual([true, true]);
  expect(await tablesLike(before, 'backup_')).toEqual([]);
  await shared(before, ['two']);
});

test('a restore in which one processor dies after the other is finished by the next one', async () => {
  await kill(after, ['restore', folder], () => PROCESSORS.every((name) => !after.process(name).running));
  for (const name of PROCESSORS)
    expect(after.process(name).log()).toContain('crash point restore:after-table reached');
  await after.restart('two', { CRASH_POINT: '' });
  await shared(after, ['two']);
  const rows = await countOf(after, 'events');
  expect(rows).toBeGreaterThan(0);
  const { stdout, stderr } = await admin(after, ['restore', folder]);
  expect(stderr).not.toContain('events: read');
  expect(stdout).toMatch(new RegExp(`^events +${rows}$`, 'm'));
  expect(await countOf(after, 'events')).toBe(rows);
  expect(await tablesLike(after, 'restored_')).toEqual([]);
  const { paid, odd } = await oddRowsOf(after, BUSY_SITE.id);
  expect(odd).toEqual([]);
  expect(paid).toBeGreaterThan(0);
  expect(paid).toBeLessThan(orders.length);
  const ofLanes = await rowsOf<{ lane: number }>(
    after,
    'SELECT DISTINCT partition AS lane FROM events ORDER BY lane',
  );
  expect(ofLanes.map(({ lane }) => lane)).toEqual([0, 1, 2]);
});

test('every answer is as it was, and what comes then counts as it would have counted', async () => {
  await pair.expectSame([...figuresOf(ASKED), ...listsOf(ASKED)]);
  // Lanes that are taken over once more restore themselves from the rows.
  await Promise.all(pair.both.map((cluster) => cluster.restart('one', { CRASH_POINT: '' })));
  for (const cluster of pair.both) await shared(cluster, PROCESSORS);
  // Each lane finds the flush in the store that its record names.
  for (const name of PROCESSORS)
    expect(after.process(name).log()).not.toContain('the store has lost flushes');
  // A new collector knows nothing of the visits that the one before has seen.
  await before.restart('web');
  await before.ready('web');
  const isRepeated = ({ part, isPayment }: Sent) => part === last || isPayment;
  const hasOrder = ({ body, part }: Sent) => part === last || JSON.stringify(body).includes('__orderId');
  const later = [...traffic.filter(isRepeated).filter(hasOrder), ...orders];
  await pair.sendToBoth(later);
  const recent = figuresOf(ASKED).filter((path) => !/12m|filters=/.test(path));
  await pair.expectSame(recent, withoutGiven);
  const counted = await rowsOf(
    after,
    `SELECT count() AS n, uniqExact(orderId) AS kinds FROM events
     WHERE projectId = '${BUSY_SITE.id}' AND orderId != ''`,
  );
  expect(counted).toEqual([{ n: orders.length, kinds: orders.length }]);
});

/** Waits until these processors answer for all lanes, and each for some. */
async function shared(cluster: Cluster, processors: readonly string[]): Promise<void> {
  await waitFor(
    'the lanes are shared out',
    async () => {
      const answering = async (name: string) => (await cluster.processorHealth(name)).answering;
      const counts = await Promise.all(processors.map((name) => answering(name).catch(() => 0)));
      return counts.every((count) => count > 0) && counts.reduce((sum, count) => sum + count, 0) === LANES;
    },
    WAIT_MAX_MS,
  );
}
