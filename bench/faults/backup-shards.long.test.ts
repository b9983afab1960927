import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { storeShardOf } from '../../infra/store/shard-of.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { makeAccounts } from '../golden/asker.ts';
import { BUSY_SITE, type GoldenSite, SITES } from '../golden/fixtures.ts';
import { PARTS, siteTraffic } from '../golden/visits.ts';
import { admin, startAdminOf } from './admin-command.ts';
import { figuresOf, listsOf, OF_PAIR, ServicePair, withoutGiven } from './service-pair.ts';

// A backup of a service with two shards of the store, and its restore into an empty service with as many. The processor
// dies in the middle of the restore.

const SHARDS = 2;
const WAIT_MAX_MS = 120_000;
/** One of each shard, and two that are never asked about. */
const ASKED: readonly GoldenSite[] = SITES.slice(0, 2);
const BUSY: readonly GoldenSite[] = [BUSY_SITE, { ...BUSY_SITE, id: 'kolkata' }];
const random = new SeededRandom(20_265);
const traffic = ASKED.flatMap((site) => siteTraffic(random, site, Date.now()));
const last = PARTS - 1;

const scratch = mkdtempSync(join(tmpdir(), 'footfall-backup-shards-'));
const folder = join(scratch, 'backup');
let before: Cluster;
let after: Cluster;
let pair: ServicePair;

beforeAll(async () => {
  for (const sites of [ASKED, BUSY])
    expect(sites.map(({ id }) => storeShardOf(storedId(id), { storeShards: SHARDS }))).toEqual([0, 1]);
  const start = (sites: readonly GoldenSite[], crashPoint = '') =>
    Cluster.start({
      hosts: { web: ['ingest', 'query'] },
      processors: ['processor'],
      withStore: true,
      storeShards: SHARDS,
      env: OF_PAIR,
      envOf: { processor: { CRASH_POINT: crashPoint } },
      prepare: async (ground) => {
        await makeAccounts(ground, sites);
      },
    });
  [before, after] = await Promise.all([start([...ASKED, ...BUSY]), start([], 'restore:after-table:after=3')]);
  await Promise.all([before.ready('web'), after.ready('web')]);
  const busy = BUSY.map(({ id }) => id);
  pair = new ServicePair({ before, after }, { random, processors: ['processor'], settling: 60, busy });
  await pair.send(
    before,
    traffic.filter(({ part }) => part < last),
  );
  await admin(before, ['backup', folder, '--events']);
}, 120_000);

afterAll(async () => {
  await Promise.all([before?.stop(), after?.stop()]);
  rmSync(scratch, { recursive: true, force: true });
});

/** Rows by site and lane, in each shard. */
async function rowsOf(cluster: Cluster, table: string): Promise<unknown[]> {
  const shards: unknown[] = [];
  for (const { id } of ASKED) {
    const store = cluster.openStore(id);
    const query = `SELECT projectId, partition, count() AS rows FROM ${table} WHERE projectId NOT IN ('', 'busy', 'kolkata')
      GROUP BY ALL ORDER BY ALL`;
    shards.push(await (await store.query({ query, format: 'JSONEachRow' })).json());
    await store.close();
  }
  return shards;
}

test('a store that is not divided does not take it, nor does one of two servers', async () => {
  const [first = ''] = after.storeUrl.split(',');
  const refusal = async (cluster: Cluster) => {
    const { code, stderr } = await startAdminOf(cluster, ['restore', folder], { CLICKHOUSE_URL: first })
      .ended;
    expect(code).toBe(1);
    return stderr;
  };
  expect(await refusal(after)).toContain(
    'CLICKHOUSE_URL lists 1 server, and the store of this service has 2 shards: list all, as the service does',
  );
  await using undivided = await Cluster.start({ hosts: {}, processors: [], withStore: false, env: {} });
  expect(await refusal(undivided)).toContain(
    'the backup is of a store with 2 shards, and that of this service has 1; nothing was written',
  );
  expect(await rowsOf(after, 'events')).toEqual([[], []]);
});

test('every answer is as it was, and what comes then counts as it would have counted', async () => {
  const restoring = startAdminOf(after, ['restore', folder]);
  const died = waitFor('the processor dies', () => !after.process('processor').running, WAIT_MAX_MS);
  const first = await Promise.race([died, restoring.ended]);
  expect(first).toBeUndefined();
  await after.restart('processor', { CRASH_POINT: '' });
  const { code, stderr } = await restoring.ended;
  expect(code, stderr).toBe(0);
  const events = await rowsOf(before, 'events');
  expect(events).toMatchObject([
    [{ projectId: 'utc', partition: 0 }],
    [{ projectId: 'berlin', partition: 1 }],
  ]);
  expect(await rowsOf(after, 'events')).toEqual(events);
  await pair.expectSame([...figuresOf(ASKED), ...listsOf(ASKED)]);
  await Promise.all([after.restart('processor', { CRASH_POINT: '' }), before.restart('web')]);
  await before.ready('web');
  expect(after.process('processor').log()).not.toContain('the store has lost flushes');
  const later = traffic.filter(({ part, isPayment }) => part === last || isPayment);
  const again = later.filter(({ part, body }) => part === last || JSON.stringify(body).includes('__orderId'));
  await pair.sendToBoth(again);
  const recent = figuresOf(ASKED.slice(1)).filter((path) => !path.includes('12m'));
  await pair.expectSame(recent, withoutGiven);
});
