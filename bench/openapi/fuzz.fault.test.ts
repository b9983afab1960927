import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { projectRoot } from '../../infra/root.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client, type Credential } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { fuzz } from './fuzz.ts';
import { KnownThings } from './known.ts';
import type { Cast } from './requests.ts';
import { lawOf, type MadeSite, SiteMaker } from './site-maker.ts';

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 12_000);
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_122);
const EACH_OPERATION = Math.floor(REQUESTS / 250);
/** Fewer than of other operations: a question occupies the store, and so takes the longest. */
const EACH_QUESTION = Math.floor(REQUESTS / 1_250);
const CONTROL_EVENTS = 50;
const BREACHES_MAX = 10;
const DECOYS = 6;
/** What is done one by one, a test of a bucket and hashing: the only requests that may be rejected as busy. */
const BUSY = /being tested; try again|passphrases wait to be hashed; try again/;
/** The share of good requests that must succeed: a document cannot state every rule, but it states most. */
const DONE_SHARE_MIN = 0.05;

let cluster: Cluster;
let client: Client;
let maker: SiteMaker;
let foreign: Credential;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'], limited: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: {
      LOG_LEVEL: 'warn',
      QUERY_LIMIT_PER_10_S: '0',
      MANAGE_LIMIT_PER_10_S: '0',
      SECRETS_KEY: '5'.repeat(64),
      // Tests of buckets connect to nothing.
      ENDPOINTS_ALLOWED: 'none',
    },
    envOf: {
      limited: { QUERY_LIMIT_PER_10_S: '40', MANAGE_LIMIT_PER_10_S: '40', TRACK_LIMIT_PER_10_S: '1000' },
    },
  });
  await cluster.ready('web');
  await cluster.ready('limited');
  client = new Client(8);
  maker = new SiteMaker(cluster, 'web', client);
  foreign = await maker.foreignRoot();
}, 120_000);

afterAll(async () => {
  client?.close();
  await cluster?.stop();
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** All events of a site as the API returns them, newest first. */
async function exported({ id, read }: MadeSite): Promise<unknown> {
  const query = `projectId=${id}&event=signup&event=screen_view&limit=1000&includes=properties,profile,revenue,utm`;
  const { body } = await client.get(`${cluster.url('web')}/export/events?${query}`, read);
  return body;
}

function totalOf(answer: unknown): number {
  return (answer as { meta?: { totalCount?: number } }).meta?.totalCount ?? 0;
}

async function rejects(): Promise<number> {
  const text = await (await fetch(`${cluster.url('web')}/metrics`)).text();
  const lines = [...text.matchAll(/^query_rejects_total{[^}]*} (\d+)$/gm)];
  return lines.reduce((sum, line) => sum + Number(line[1]), 0);
}

test('requests made from the document alone: every answer is as the document says', async () => {
  const law = await lawOf(cluster.url('web'), { limited: false });
  const control = await maker.site('Control');
  await maker.sendHistory(control, CONTROL_EVENTS);
  const home = await maker.site('Home');
  await maker.sendHistory(home, 300);
  await waitFor(
    'the control events',
    async () => totalOf(await exported(control)) === CONTROL_EVENTS,
    30_000,
  );
  await waitFor('a session', async () => (await maker.sessionOf(home)) !== undefined, 30_000);
  const sessionId = must(await maker.sessionOf(home), 'a session');
  const before = await exported(control);
  const rejectedBefore = await rejects();
  const decoys = await Promise.all(
    Array.from({ length: DECOYS }, (_, index) =>
      maker.client(['read', 'write'][index % 2] ?? 'root', home.id),
    ),
  );
  decoys.push(await maker.client('root', null));
  const cast: Cast = {
    root: cluster.credentials.clients.root,
    write: home.write,
    read: home.read,
    cookie: await maker.signedIn(home.read),
    foreign,
    decoys,
  };
  const known = new KnownThings(law.operations, [
    { projectId: home.id },
    { projectId: home.id, profileId: 'user-1' },
    { projectId: home.id, groupId: 'group-1' },
    { projectId: home.id, sessionId },
    { token: await maker.sharedLink(home) },
    {
      file: must(readdirSync(join(projectRoot, 'dist/query/dashboard/files'))[0], 'a file of the dashboard'),
    },
  ]);
  const { breaches, good, statuses, unavailable, sent } = await fuzz({
    law,
    known,
    cast,
    site: home.id,
    url: cluster.url('web'),
    seed: SEED,
    requests: REQUESTS,
    eachOperation: EACH_OPERATION,
    eachQuestion: EACH_QUESTION,
    inFlight: 32,
    say,
    breachesMax: BREACHES_MAX,
  });
  say(`FUZZ_SEED=${SEED}: ${sent} requests; ${[...statuses].sort(([a], [b]) => a - b).join(' ')}`);
  expect(breaches, `FUZZ_SEED=${SEED}:\n${breaches.join('\n')}`).toEqual([]);
  expect(sent).toBeGreaterThanOrEqual(REQUESTS);
  // No dependency was away and no question was too large.
  expect([...unavailable].filter((said) => !BUSY.test(said))).toEqual([]);
  for (const status of [200, 204, 400, 401, 403, 404, 405, 409, 412, 413, 415])
    expect([status, (statuses.get(status) ?? 0) > 0]).toEqual([status, true]);
  // The generator covers what it should: every operation that was sent often succeeded often.
  const blind = [...good].filter(([, { sent: asked, done }]) => done < DONE_SHARE_MIN * asked);
  expect(blind).toEqual([]);

  await cluster.ready('web');
  expect(await exported(control)).toEqual(before);
  expect(await rejects()).toBeGreaterThan(rejectedBefore + 1000);
  for (const name of ['web', 'processor']) expect(cluster.process(name).log()).not.toMatch(/"level":(50|60)/);
}, 600_000);

test('with limits, every answer that lists the headers of limits says them, and 429 is one of them', async () => {
  const law = await lawOf(cluster.url('limited'), { limited: true });
  const home = await maker.site('Limited');
  const known = new KnownThings(law.operations, [{ projectId: home.id }]);
  const cast = {
    root: cluster.credentials.clients.root,
    write: home.write,
    read: home.read,
    cookie: await maker.signedIn(home.read),
    foreign,
    decoys: [foreign],
  };
  const outcome = await fuzz({
    law,
    known,
    cast,
    site: home.id,
    url: cluster.url('limited'),
    seed: SEED,
    requests: 0,
    eachOperation: 6,
    eachQuestion: 6,
    inFlight: 8,
    say,
    breachesMax: BREACHES_MAX,
  });
  expect(outcome.breaches, outcome.breaches.join('\n')).toEqual([]);
  for (const status of [200, 429])
    expect([status, (outcome.statuses.get(status) ?? 0) > 20]).toEqual([status, true]);
}, 120_000);
