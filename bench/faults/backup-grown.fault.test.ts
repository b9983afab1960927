import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { makeAccounts } from '../golden/asker.ts';
import { BUSY_SITE, type GoldenSite, SITES } from '../golden/fixtures.ts';
import { PARTS, siteTraffic } from '../golden/visits.ts';
import { admin, startAdminOf } from './admin-command.ts';
import { countOf, figuresOf, listsOf, ServicePair, withoutGiven } from './service-pair.ts';

// A backup of a service that has grown from one lane to three while it had events, and its restore into an empty service, which has to grow
// first. Lanes take up devices that the first lane had before.

const LANES = 3;
const WAIT_MAX_MS = 30_000;
const ASKED: readonly GoldenSite[] = SITES.slice(1, 2);
const random = new SeededRandom(20_264);
const traffic = ASKED.flatMap((site) => siteTraffic(random, site, Date.now()));
const last = PARTS - 1;

const scratch = mkdtempSync(join(tmpdir(), 'footfall-backup-grown-'));
const folder = join(scratch, 'backup');
let before: Cluster;
let after: Cluster;
let pair: ServicePair;

beforeAll(async () => {
  const start = (sites: readonly GoldenSite[]) =>
    Cluster.start({
      hosts: { web: ['ingest', 'query'] },
      processors: ['processor'],
      withStore: true,
      env: {
        FLUSH_INTERVAL_MS: '150',
        ROLLUP_INTERVAL_MS: '200',
        LOG_LEVEL: 'warn',
        QUERY_LIMIT_PER_10_S: '0',
        MANAGE_LIMIT_PER_10_S: '0',
      },
      prepare: async (ground) => {
        await makeAccounts(ground, sites);
      },
    });
  [before, after] = await Promise.all([start([...ASKED, BUSY_SITE]), start([])]);
  await Promise.all([before.ready('web'), after.ready('web')]);
  pair = new ServicePair({ before, after }, { random, processors: ['processor'], settling: 60 });
  await pair.send(
    before,
    traffic.filter(({ part }) => part < last - 1),
  );
  await admin(before, ['lane', 'grow', String(LANES)]);
  await answered(before);
  await pair.send(
    before,
    traffic.filter(({ part }) => part === last - 1),
  );
  await admin(before, ['backup', folder, '--events']);
}, 120_000);

afterAll(async () => {
  await Promise.all([before?.stop(), after?.stop()]);
  rmSync(scratch, { recursive: true, force: true });
});

test('a service with another number of lanes refuses the backup before anything is changed, and says how to get there', async () => {
  const { code, stderr } = await startAdminOf(after, ['restore', folder]).ended;
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(
      'the backup is of a service with 3 lanes, and this one has 1; nothing was written; let it grow (npm run admin -- lane grow 3), or start an empty service with LANES=3, then repeat the command',
    ),
  ]);
  expect(await countOf(after, 'events')).toBe(0);
});

test('every answer is as it was once it has grown, and what comes then counts as it would have counted', async () => {
  await admin(after, ['lane', 'grow', String(LANES)]);
  await answered(after);
  await admin(after, ['restore', folder]);
  await pair.expectSame([...figuresOf(ASKED), ...listsOf(ASKED)]);
  // Lanes that are taken over restore themselves from the rows, and a new collector knows nothing of earlier visits.
  await Promise.all([after.restart('processor'), before.restart('web')]);
  await Promise.all([answered(after), before.ready('web')]);
  expect(after.process('processor').log()).not.toContain('the store has lost flushes');
  const later = traffic.filter(({ part, isPayment }) => part === last || isPayment);
  const again = later.filter(({ part, body }) => part === last || JSON.stringify(body).includes('__orderId'));
  await pair.sendToBoth(again);
  const recent = figuresOf(ASKED).filter((path) => !path.includes('12m'));
  await pair.expectSame(recent, withoutGiven);
});

/** Waits until the processor answers for all lanes. */
async function answered(cluster: Cluster): Promise<void> {
  const isAnswering = async () => (await cluster.processorHealth('processor')).answering === LANES;
  await waitFor('all lanes answer', () => isAnswering().catch(() => false), WAIT_MAX_MS);
}
