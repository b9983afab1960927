import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { must } from '../../infra/assert.ts';
import { projectRoot } from '../../infra/root.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client, type Credential } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { fuzz } from './fuzz.ts';
import { KnownThings } from './known.ts';
import type { Cast } from './requests.ts';
import { lawOf, type MadeSite, SiteMaker } from './site-maker.ts';

/** The share of all requests that each operation gets. Questions get fewer: they occupy the store, and so take the longest. */
const EACH_OPERATION = 1 / 250;
const EACH_QUESTION = 1 / 1_250;
const CONTROL_EVENTS = 50;
export const BREACHES_MAX = 10;
const DECOYS = 6;
/** Tasks that run one by one, a test of a bucket and hashing: the only requests that may be rejected as busy. */
const BUSY = /being tested; try again|passphrases wait to be hashed; try again/;
/** The share of requests that a busy machine may answer too late. */
const LATE_SHARE_MAX = 0.001;
/** The share of good requests that must succeed: a document cannot state every rule, but it states most. */
const DONE_SHARE_MIN = 0.05;
/** With fewer requests of an operation, the share means nothing. */
const GOOD_MIN = 20;

interface FuzzParts {
  readonly cluster: Cluster;
  readonly client: Client;
  readonly maker: SiteMaker;
  /** A root client of another team. */
  readonly foreign: Credential;
}

/** A service to send requests to, on `web` without limits and on `limited` with them. */
export class FuzzGround implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly client: Client;
  readonly maker: SiteMaker;
  readonly foreign: Credential;

  private constructor({ cluster, client, maker, foreign }: FuzzParts) {
    this.cluster = cluster;
    this.client = client;
    this.maker = maker;
    this.foreign = foreign;
  }

  static async open(): Promise<FuzzGround> {
    const cluster = await Cluster.start({
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
    const client = new Client(8);
    const maker = new SiteMaker(cluster, 'web', client);
    return new FuzzGround({ cluster, client, maker, foreign: await maker.foreignRoot() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    await this.cluster.stop();
  }
}

/** Sends requests made from the document, good and mutated, and expects that every answer is as the document says. */
export async function expectDescribedAnswers(
  { cluster, client, maker, foreign }: FuzzGround,
  { seed, requests }: { readonly seed: number; readonly requests: number },
): Promise<void> {
  const law = await lawOf(cluster.url('web'), { limited: false });
  const control = await maker.site('Control');
  await maker.sendHistory(control, CONTROL_EVENTS);
  const home = await maker.site('Home');
  await maker.sendHistory(home, 300);
  await waitFor(
    'the control events',
    async () => totalOf(await exported(cluster, client, control)) === CONTROL_EVENTS,
    30_000,
  );
  await waitFor('a session', async () => (await maker.sessionOf(home)) !== undefined, 30_000);
  const sessionId = must(await maker.sessionOf(home), 'a session');
  const before = await exported(cluster, client, control);
  const rejectedBefore = await rejects(cluster);
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
  const { breaches, good, statuses, unavailable, sent, late } = await fuzz({
    law,
    known,
    cast,
    site: home.id,
    url: cluster.url('web'),
    seed,
    requests,
    eachOperation: Math.floor(requests * EACH_OPERATION),
    eachQuestion: Math.floor(requests * EACH_QUESTION),
    inFlight: 32,
    say,
    breachesMax: BREACHES_MAX,
  });
  say(`FUZZ_SEED=${seed}: ${sent} requests; ${[...statuses].sort(([a], [b]) => a - b).join(' ')}`);
  expect(breaches, `FUZZ_SEED=${seed}:\n${breaches.join('\n')}`).toEqual([]);
  expect(sent).toBeGreaterThanOrEqual(requests);
  // A dependency that does not answer, or a question that is too large, would hide the answer under test.
  expect([...unavailable].filter((said) => !BUSY.test(said))).toEqual([]);
  expect(late).toBeLessThanOrEqual(Math.ceil(requests * LATE_SHARE_MAX));
  for (const status of [200, 204, 400, 401, 403, 404, 405, 409, 412, 413, 415])
    expect([status, (statuses.get(status) ?? 0) > 0]).toEqual([status, true]);
  // The generator covers its range: every operation that was sent often succeeded often.
  const blind = [...good].filter(
    ([, { sent: asked, done }]) => asked >= GOOD_MIN && done < DONE_SHARE_MIN * asked,
  );
  expect(blind).toEqual([]);

  await cluster.ready('web');
  expect(await exported(cluster, client, control)).toEqual(before);
  expect(await rejects(cluster)).toBeGreaterThan(rejectedBefore + requests / 12);
  for (const name of ['web', 'processor']) expect(cluster.process(name).log()).not.toMatch(/"level":(50|60)/);
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** All events of a site as the API returns them, newest first. */
async function exported(cluster: Cluster, client: Client, { id, read }: MadeSite): Promise<unknown> {
  const query = `projectId=${id}&event=signup&event=screen_view&limit=1000&includes=properties,profile,revenue,utm`;
  const { body } = await client.get(`${cluster.url('web')}/export/events?${query}`, read);
  return body;
}

function totalOf(answer: unknown): number {
  return (answer as { meta?: { totalCount?: number } }).meta?.totalCount ?? 0;
}

async function rejects(cluster: Cluster): Promise<number> {
  const text = await (await fetch(`${cluster.url('web')}/metrics`)).text();
  const lines = [...text.matchAll(/^query_rejects_total{[^}]*} (\d+)$/gm)];
  return lines.reduce((sum, line) => sum + Number(line[1]), 0);
}
