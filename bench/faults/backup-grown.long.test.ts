import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FaultProxy, startFaultProxy } from '../../infra/testing/fault-proxy.ts';
import { S3_KEY, S3_REGION, type S3Server, startS3 } from '../../infra/testing/s3-server.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { Cluster } from '../cluster/cluster.ts';
import { makeAccounts } from '../golden/asker.ts';
import { BUSY_SITE, type GoldenSite, SITES } from '../golden/fixtures.ts';
import { PARTS, siteTraffic } from '../golden/visits.ts';
import { admin, kill, startAdminOf } from './admin-command.ts';
import { untilAnswering } from './answering.ts';
import {
  countOf,
  figuresOf,
  listsOf,
  OF_PAIR,
  ServicePair,
  tablesLike,
  withoutGiven,
} from './service-pair.ts';

// A backup of a service that has grown from one lane to three while it had events, and its restore into an empty service, which
// has to grow first. Lanes take over devices of the first lane. The backup is in a bucket whose storage fails now and then, and
// both commands are killed midway.

const LANES = 3;
const WAIT_MAX_MS = 120_000;
const ASKED: readonly GoldenSite[] = SITES.slice(1, 2);
const random = new SeededRandom(20_264);
const traffic = ASKED.flatMap((site) => siteTraffic(random, site, Date.now()));
const last = PARTS - 1;

const BUCKET = 'backups';
const PREFIX = 'of service/grown';
const PLACE = `s3://${BUCKET}/${PREFIX}`;
const SETTINGS_OF_BUCKET = {
  AWS_ACCESS_KEY_ID: S3_KEY.accessKeyId,
  AWS_SECRET_ACCESS_KEY: S3_KEY.secretAccessKey,
  AWS_REGION: S3_REGION,
};
let s3: S3Server;
let proxy: FaultProxy;
let settings: Readonly<Record<string, string>>;
let before: Cluster;
let after: Cluster;
let pair: ServicePair;

beforeAll(async () => {
  const start = (sites: readonly GoldenSite[]) =>
    Cluster.start({
      hosts: { web: ['ingest', 'query'] },
      processors: ['processor'],
      withStore: true,
      env: OF_PAIR,
      prepare: async (ground) => {
        await makeAccounts(ground, sites);
      },
    });
  s3 = await startS3({ buckets: [BUCKET] });
  proxy = await startFaultProxy(s3.endpoint);
  settings = { ...SETTINGS_OF_BUCKET, AWS_ENDPOINT_URL: proxy.endpoint };
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
}, 120_000);

afterAll(async () => {
  await Promise.all([before?.stop(), after?.stop(), proxy?.stop()]);
  await s3?.stop();
});

test('a backup to a bucket that is killed goes on with the same instant, also when the storage fails', async () => {
  await kill(before, ['backup', PLACE], () => objectsOf('events').length > 2, settings);
  expect([existsSync(objectPath('manifest.json')), existsSync(objectPath('unfinished.json'))]).toEqual([
    false,
    true,
  ]);
  const { backupId } = JSON.parse(readFileSync(objectPath('unfinished.json'), 'utf8'));
  await expectFailure(after, ['restore', PLACE], `${PLACE} has no manifest.json`);
  const written = statSync(objectPath('profiles/all.parquet')).mtimeMs;
  for (const status of [503, 500])
    proxy.fail({ when: ({ method }) => method === 'PUT', times: 1, fault: { kind: 'answer', status } });
  proxy.fail({ times: 1, fault: { kind: 'lose' } });
  const { stdout, stderr } = await admin(before, ['backup', PLACE], settings);
  expect(stderr).toContain('going on with the backup of ');
  expect(stderr).toContain(': trying again');
  expect(stderr).toMatch(/^events: written (\d+) of \1 files, /m);
  expect(stdout).toContain(`written to ${PLACE}: everything that was accepted until `);
  expect(stdout + stderr).not.toContain(S3_KEY.secretAccessKey);
  const manifest = JSON.parse(readFileSync(objectPath('manifest.json'), 'utf8'));
  expect(manifest.backupId).toBe(backupId);
  expect(statSync(objectPath('profiles/all.parquet')).mtimeMs).toBe(written);
  const files = manifest.tables.flatMap(({ files: of }: { files: { file: string }[] }) =>
    of.map(({ file }) => file),
  );
  expect([...(await s3.objects()).keys()].sort()).toEqual(
    ['control.json', 'manifest.json', ...files].map((file) => `${PREFIX}/${file}`).sort(),
  );
  expect(await s3.openUploads()).toEqual([]);
  expect(await tablesLike(before, 'backup_')).toEqual([]);
  await expectFailure(
    before,
    ['backup', PLACE],
    `${PLACE} already is a complete backup; choose another prefix`,
  );
});

test('a storage that denies the key is named, and nothing is changed', async () => {
  const { code, stderr } = await startAdminOf(before, ['backup', `${PLACE}-2`], {
    ...settings,
    AWS_SECRET_ACCESS_KEY: 'wrong-secret',
  }).ended;
  const host = new URL(proxy.endpoint).host;
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(
      `admin: ${PLACE}-2: ${host} denied the request for this access key (403 SignatureDoesNotMatch); repeat the command`,
    ),
  ]);
  expect(stderr).not.toContain('wrong-secret');
  expect(await tablesLike(before, 'backup_')).toEqual([]);
});

test('a service with another number of lanes refuses the backup before anything is changed, and says how to get there', async () => {
  await expectFailure(
    after,
    ['restore', PLACE],
    'the backup is of a service with 3 lanes, and this one has 1; nothing was written; let it grow (npm run admin -- lane grow 3), or start an empty service with LANES=3, then repeat the command',
  );
  expect(await countOf(after, 'events')).toBe(0);
});

test('a restore that is killed, or finds an object damaged, leaves an empty service, and is complete once it is repeated', async () => {
  await admin(after, ['lane', 'grow', String(LANES)]);
  await answered(after);
  await kill(after, ['restore', PLACE], async () => (await countOfRestored()) > 0, settings);
  expect(await countOf(after, 'events')).toBe(0);
  await expectDamageFound();
  proxy.fail({ when: ({ url }) => url.includes('/events/'), times: 2, fault: { kind: 'cut' } });
  const { stdout, stderr } = await admin(after, ['restore', PLACE], settings);
  expect(stderr).toContain(': trying again');
  expect(stdout).toContain(`from ${PLACE}`);
  expect(await tablesLike(after, 'restored_')).toEqual([]);
});

test('every answer is as it was once it has grown, and what comes then counts as it would have counted', async () => {
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
function answered(cluster: Cluster): Promise<void> {
  return untilAnswering(cluster, ['processor'], LANES, WAIT_MAX_MS);
}

/** Restores from a bucket in which one byte of an object has changed, and its length has not. */
async function expectDamageFound(): Promise<void> {
  const file = `events/${objectsOf('events').at(-1)}`;
  const path = objectPath(file);
  const whole = readFileSync(path);
  const flipped = Buffer.from(whole);
  flipped.writeUInt8(flipped.readUInt8(100) ^ 1, 100);
  writeFileSync(path, flipped);
  await expectFailure(after, ['restore', PLACE], `${PLACE}/${file} is damaged; nothing was changed`);
  writeFileSync(path, whole.subarray(1));
  await expectFailure(after, ['restore', PLACE], `${PLACE}/${file} is damaged; nothing was changed`);
  writeFileSync(path, whole);
  expect(await countOf(after, 'events')).toBe(0);
}

/** Rows of events that an attempt to restore has read. */
async function countOfRestored(): Promise<number> {
  const table = (await tablesLike(after, 'restored_')).find((name) => name.endsWith('_events'));
  return table === undefined ? 0 : countOf(after, table);
}

async function expectFailure(cluster: Cluster, args: readonly string[], text: string): Promise<void> {
  const { code, stderr } = await startAdminOf(cluster, args, settings).ended;
  expect([code, stderr]).toEqual([1, expect.stringContaining(text)]);
}

const OBJECT_SUFFIX = '._S3rver_object';

function objectPath(file: string): string {
  return join(s3.folder, BUCKET, PREFIX, file + OBJECT_SUFFIX);
}

/** Names of the objects of a table. */
function objectsOf(table: string): readonly string[] {
  const path = join(s3.folder, BUCKET, PREFIX, table);
  const names = existsSync(path) ? readdirSync(path) : [];
  return names
    .filter((name) => name.endsWith(OBJECT_SUFFIX))
    .map((name) => name.slice(0, -OBJECT_SUFFIX.length));
}
