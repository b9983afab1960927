import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { projectRoot } from '../../infra/root.ts';
import type { OpenApiDocument } from '../../query/openapi/open-api.ts';
import { waitFor } from '../cluster/child-process.ts';
import { type Answer, Client, type Credential } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { fuzz } from './fuzz.ts';
import type { Law } from './judge.ts';
import { credentialIn, KnownThings } from './known.ts';
import { operationsIn } from './operations.ts';
import type { Cast } from './requests.ts';
import { schemaCheck } from './schemas.ts';

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

const run = promisify(execFile);
let cluster: Cluster;
let client: Client;
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
  foreign = await foreignRoot();
}, 120_000);

afterAll(async () => {
  client?.close();
  await cluster?.stop();
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The root client of a team of its own. */
async function foreignRoot(): Promise<Credential> {
  const program = join(projectRoot, 'dist/query/manage/admin/admin.js');
  const { stdout } = await run(process.execPath, [program, 'team', 'create', 'Strangers', '--json'], {
    env: { ...process.env, NATS_URL: cluster.busUrl, DATA_DIR: cluster.folder },
  });
  return must(credentialIn(JSON.parse(stdout)), `no client in ${stdout}`);
}

async function asRoot(path: string, body: unknown): Promise<Answer> {
  const answer = await client.post(
    cluster.url('web') + path,
    cluster.credentials.clients.root,
    {},
    JSON.stringify(body),
  );
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer;
}

interface MadeSite {
  readonly id: string;
  readonly write: Credential;
  readonly read: Credential;
}

async function madeSite(name: string): Promise<MadeSite> {
  const project = await asRoot('/manage/projects', { name, cors: ['*'] });
  const { id } = (project.body as { data: { id: string } }).data;
  const write = must(credentialIn(project.body), 'a new site has a client');
  return { id, write, read: await madeClient('read', id) };
}

async function madeClient(type: string, projectId: string | null): Promise<Credential> {
  const { body } = await asRoot('/manage/clients', { name: `of ${projectId}`, type, projectId });
  return must(credentialIn(body), 'a new client has a secret');
}

/** The cookie of a browser that signs in with this client. */
async function signedIn({ id, secret }: Credential): Promise<string> {
  const body = JSON.stringify({ clientId: id, clientSecret: secret });
  const headers = { 'content-type': 'application/json' };
  const { headers: answered } = await fetch(`${cluster.url('web')}/sign-in`, {
    method: 'POST',
    headers,
    body,
  });
  return must(answered.get('set-cookie')?.split(';')[0], 'a sign-in sets a cookie');
}

/** The token of a link that shows a site to everyone. */
async function sharedLink({ id }: MadeSite): Promise<string> {
  const { body } = await asRoot('/manage/shares', { projectId: id, name: 'For everyone' });
  return (body as { data: { token: string } }).data.token;
}

/** Events of a past day, with a person and a group to ask about. */
async function sendHistory({ write }: MadeSite, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, index) => ({
    type: 'track',
    payload: {
      name: index % 3 === 0 ? 'signup' : 'screen_view',
      profileId: 'user-1',
      properties: { __path: `/page-${index % 7}`, __deviceId: `device-${index % 5}`, plan: 'pro' },
    },
  }));
  const others = [
    { type: 'identify', payload: { profileId: 'user-1', firstName: 'Ada' } },
    { type: 'group', payload: { id: 'group-1', type: 'company', name: 'Example' } },
  ];
  const body = JSON.stringify([...events, ...others]);
  const answer = await client.post(`${cluster.url('web')}/track/batch`, write, {}, body);
  expect(answer.body).toEqual({ accepted: count + others.length, rejected: [] });
}

/** All events of a site as the API returns them, newest first. */
async function exported({ id, read }: MadeSite): Promise<unknown> {
  const query = `projectId=${id}&event=signup&event=screen_view&limit=1000&includes=properties,profile,revenue,utm`;
  const { body } = await client.get(`${cluster.url('web')}/export/events?${query}`, read);
  return body;
}

/** The id of one of a site's sessions; undefined as long as it has none. */
async function sessionOf({ id, read }: MadeSite): Promise<string | undefined> {
  const { body } = await client.get(`${cluster.url('web')}/insights/${id}/sessions?limit=1`, read);
  return (body as readonly { readonly id: string }[])[0]?.id;
}

function totalOf(answer: unknown): number {
  return (answer as { meta?: { totalCount?: number } }).meta?.totalCount ?? 0;
}

async function rejects(): Promise<number> {
  const text = await (await fetch(`${cluster.url('web')}/metrics`)).text();
  const lines = [...text.matchAll(/^query_rejects_total{[^}]*} (\d+)$/gm)];
  return lines.reduce((sum, line) => sum + Number(line[1]), 0);
}

async function documentOf(host: string): Promise<OpenApiDocument> {
  return (await (await fetch(`${cluster.url(host)}/openapi.json`)).json()) as OpenApiDocument;
}

function lawOf(document: OpenApiDocument, { limited }: { readonly limited: boolean }): Law {
  const named = document.components.schemas;
  return { operations: operationsIn(document), named, schemaBreaches: schemaCheck(named), limited };
}

test('requests made from the document alone: every answer is as the document says', async () => {
  const document = await documentOf('web');
  const law = lawOf(document, { limited: false });
  const control = await madeSite('Control');
  await sendHistory(control, CONTROL_EVENTS);
  const home = await madeSite('Home');
  await sendHistory(home, 300);
  await waitFor(
    'the control events',
    async () => totalOf(await exported(control)) === CONTROL_EVENTS,
    30_000,
  );
  await waitFor('a session', async () => (await sessionOf(home)) !== undefined, 30_000);
  const sessionId = must(await sessionOf(home), 'a session');
  const before = await exported(control);
  const rejectedBefore = await rejects();
  const decoys = await Promise.all(
    Array.from({ length: DECOYS }, (_, index) => madeClient(['read', 'write'][index % 2] ?? 'root', home.id)),
  );
  decoys.push(await madeClient('root', null));
  const cast: Cast = {
    root: cluster.credentials.clients.root,
    write: home.write,
    read: home.read,
    cookie: await signedIn(home.read),
    foreign,
    decoys,
  };
  const known = new KnownThings(law.operations, [
    { projectId: home.id },
    { projectId: home.id, profileId: 'user-1' },
    { projectId: home.id, groupId: 'group-1' },
    { projectId: home.id, sessionId },
    { token: await sharedLink(home) },
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
  const document = await documentOf('limited');
  const law = lawOf(document, { limited: true });
  const home = await madeSite('Limited');
  const known = new KnownThings(law.operations, [{ projectId: home.id }]);
  const cast = {
    root: cluster.credentials.clients.root,
    write: home.write,
    read: home.read,
    cookie: await signedIn(home.read),
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
