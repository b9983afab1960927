import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Client, type Credential, rejectOf } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { ManageClient } from '../cluster/manage-client.ts';
import { BROWSER } from '../cluster/site-of-cluster.ts';
import { storedCounts } from '../cluster/stored.ts';
import { Probe } from './probe.ts';

/** The contract: a change is in force everywhere within this time. */
const IN_FORCE_MS = 2_000;
/** The least number of requests of each probe before a change, and later than `IN_FORCE_MS` after it. */
const REQUESTS_MIN = 5;
const WAIT_MAX_MS = 60_000;
// Wrong credentials from one address are limited in each process, and the probes' failures must show their real reason.
const TRACK_EVERY_MS = 120;
const ASK_EVERY_MS = 120;
const EVENT = 'tick';
/** Changes are made at `asking`; the other hosts learn of them only by the bus. */
const COLLECTORS = ['collecting', 'both'];
const ANSWERERS = ['asking', 'both'];
const OLD_PAGE = 'https://old.example';
const NEW_PAGE = 'https://new.example';
// The two zones are 25 hours apart, so their dates always differ.
const WEST = 'Pacific/Pago_Pago';
const EAST = 'Pacific/Kiritimati';

interface ProbedSite {
  readonly id: string;
  readonly write: Credential;
  readonly read: Credential;
}

/** A probe and its expected outcomes before and after a change. */
interface Watched {
  readonly probe: Probe;
  readonly before: string;
  readonly after: string;
}

let cluster: Cluster;
let client: Client;
let manage: ManageClient;
let others: readonly Watched[];
let devices = 0;
/** Events that were answered with 200, by site. */
const acknowledged = new Map<string, number>();

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { asking: ['query'], collecting: ['ingest'], both: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: {
      FLUSH_INTERVAL_MS: '200',
      LEASE_MS: '2000',
      LOG_LEVEL: 'warn',
      QUERY_LIMIT_PER_10_S: '0',
      MANAGE_LIMIT_PER_10_S: '0',
    },
  });
  client = new Client(64);
  manage = new ManageClient(cluster, 'asking', client);
  await Promise.all(['asking', 'collecting', 'both'].map((host) => cluster.ready(host)));
  const { projectId, clients } = cluster.credentials;
  const undisturbed = { before: '200', track: '200', ask: '200' };
  others = sendAndAsk('another site', { id: projectId, ...clients }, undisturbed);
});

afterAll(async () => {
  await Promise.all((others ?? []).map(({ probe }) => probe.stop()));
  client?.close();
  await cluster?.stop();
});

async function createSite(name: string, settings: object = {}): Promise<ProbedSite> {
  const { id, client: write } = await manage.ask<{ id: string; client: Credential }>('POST', 'projects', {
    name,
    ...settings,
  });
  const reader = { name: `${name} reader`, type: 'read', projectId: id };
  return { id, write, read: await manage.ask<Credential>('POST', 'clients', reader) };
}

interface Tracking {
  readonly name: string;
  readonly host: string;
  /** The site that the events belong to. */
  readonly site: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly path?: string;
  /** At the top of the body. */
  readonly claims?: object;
}

interface Asking {
  readonly name: string;
  readonly host: string;
  readonly site: string;
  readonly credential: Credential;
}

/** Sends events of a separate device, one after the other; returns the status of each answer. */
function tracking({ name, host, site, headers, path = '/', claims = {} }: Tracking): Probe {
  devices += 1;
  const properties = { __deviceId: `device-${devices}`, __path: `${NEW_PAGE}${path}` };
  const bytes = Buffer.from(
    JSON.stringify({ ...claims, type: 'track', payload: { name: EVENT, properties } }),
  );
  const sent = { 'content-type': 'application/json', ...headers };
  const ask = async () => {
    const { status } = await client.exchange('POST', `${cluster.url(host)}/track`, sent, bytes);
    if (status === 200) acknowledged.set(site, (acknowledged.get(site) ?? 0) + 1);
    return String(status);
  };
  return new Probe({ name: `${name} at ${host}`, everyMs: TRACK_EVERY_MS, ask });
}

/** Asks for the live number, again and again. */
function asking({ name, host, site, credential }: Asking): Probe {
  const url = `${cluster.url(host)}/insights/${site}/live`;
  const ask = async () => String((await client.get(url, credential)).status);
  return new Probe({ name: `${name} at ${host}`, everyMs: ASK_EVERY_MS, ask });
}

function secretOf({ id, secret }: Credential): Record<string, string> {
  return { 'service-client-id': id, 'service-client-secret': secret };
}

/** Sends to a site and asks about it with its secrets, at every host; `name` names the probes. */
function sendAndAsk(
  name: string,
  { id, write, read }: ProbedSite,
  expected: { readonly before: string; readonly track: string; readonly ask: string },
): Watched[] {
  const { before } = expected;
  return [
    ...COLLECTORS.map((host) => ({
      probe: tracking({ name: `track, ${name}`, host, site: id, headers: secretOf(write) }),
      before,
      after: expected.track,
    })),
    ...ANSWERERS.map((host) => ({
      probe: asking({ name: `live, ${name}`, host, site: id, credential: read }),
      before,
      after: expected.ask,
    })),
  ];
}

/**
 * Makes a change under load and compares the probes' outcomes with the expected ones: before the change was requested,
 * and in every request begun later than `IN_FORCE_MS` after it was answered. `change` may return further probes
 * to begin with it. Probes unaffected by the change must see no difference.
 */
async function holdsInTime(
  watched: readonly Watched[],
  change: () => Promise<readonly Watched[]>,
): Promise<void> {
  const running = [...watched];
  try {
    const concerned = [...watched, ...others];
    await waitFor(
      'every probe to see what is there',
      () => concerned.every(({ probe, before }) => probe.last === before),
      WAIT_MAX_MS,
    );
    const steadyAtMs = Date.now();
    await waitFor('requests before the change', () => haveSeen(concerned, steadyAtMs), WAIT_MAX_MS);
    const changesAtMs = Date.now();
    running.push(...(await change()));
    const inForceAtMs = Date.now() + IN_FORCE_MS;
    const all = [...running, ...others];
    await waitFor('requests after the change', () => haveSeen(all, inForceAtMs), WAIT_MAX_MS);
    const endedAtMs = Date.now();
    expect(seenBy(concerned, steadyAtMs, changesAtMs)).toEqual(expectedOf(concerned, 'before'));
    expect(seenBy(all, inForceAtMs, endedAtMs)).toEqual(expectedOf(all, 'after'));
    // The others never see a difference, not even while the change spreads.
    expect(seenBy(others, steadyAtMs, endedAtMs)).toEqual(expectedOf(others, 'after'));
  } finally {
    await Promise.all(running.map(({ probe }) => probe.stop()));
  }
}

function haveSeen(watched: readonly Watched[], fromMs: number): boolean {
  return watched.every(({ probe }) => probe.within(fromMs, Number.POSITIVE_INFINITY).length >= REQUESTS_MIN);
}

/** The different outcomes that each probe saw in a time, by its name. */
function seenBy(watched: readonly Watched[], fromMs: number, untilMs: number): Record<string, string[]> {
  return Object.fromEntries(
    watched.map(({ probe }) => [
      probe.name,
      [...new Set(probe.within(fromMs, untilMs).map(({ saw }) => saw))],
    ]),
  );
}

function expectedOf(watched: readonly Watched[], when: 'before' | 'after'): Record<string, string[]> {
  return Object.fromEntries(watched.map((each) => [each.probe.name, [each[when]]]));
}

test('a rotated secret ends everywhere within two seconds, and the fresh one counts', async () => {
  const site = await createSite('Rotated');
  const old = sendAndAsk('the old secret', site, { before: '200', track: '401', ask: '401' });
  await holdsInTime(old, async () => {
    const [write, read] = await Promise.all(
      [site.write, site.read].map(({ id }) => manage.ask<Credential>('POST', `clients/${id}/rotate`)),
    );
    const fresh = { id: site.id, write: must(write, 'rotated'), read: must(read, 'rotated') };
    return sendAndAsk('the fresh secret', fresh, { before: '', track: '200', ask: '200' });
  });
});

test('a deleted client ends everywhere within two seconds', async () => {
  const site = await createSite('Bereft');
  const clients = sendAndAsk('a client', site, { before: '200', track: '401', ask: '401' });
  await holdsInTime(clients, async () => {
    await Promise.all([site.write, site.read].map(({ id }) => manage.ask('DELETE', `clients/${id}`)));
    return [];
  });
});

test('an expired client and one without a scope are rejected everywhere within two seconds', async () => {
  const site = await createSite('Limited');
  const clients = sendAndAsk('a client', site, { before: '200', track: '401', ask: '403' });
  await holdsInTime(clients, async () => {
    await Promise.all([
      manage.ask('PATCH', `clients/${site.write.id}`, { expiresAt: '2020-01-01T00:00:00Z' }),
      manage.ask('PATCH', `clients/${site.read.id}`, { scopes: ['export'] }),
    ]);
    return [];
  });
});

test('a deleted site is hidden and rejected everywhere within two seconds', async () => {
  const site = await createSite('Doomed');
  const { root } = cluster.credentials.clients;
  const ofRoot = [
    ...COLLECTORS.map((host) => {
      const claims = { projectId: site.id };
      return tracking({ name: 'track, root', host, site: site.id, headers: secretOf(root), claims });
    }),
    ...ANSWERERS.map((host) => asking({ name: 'live, root', host, site: site.id, credential: root })),
  ].map((probe) => ({ probe, before: '200', after: '404' }));
  const watched = [...sendAndAsk('a client', site, { before: '200', track: '403', ask: '404' }), ...ofRoot];
  await holdsInTime(watched, async () => {
    await manage.ask('DELETE', `projects/${site.id}`);
    return [];
  });
});

test('a restored site works everywhere within two seconds as before', async () => {
  const site = await createSite('Restored');
  const watched = sendAndAsk('a client', site, { before: '200', track: '200', ask: '200' });
  const deleted = await deletedUnderLoad(site, watched);
  expect(deleted).toMatchObject({ restorable: true, remainingSeconds: expect.any(Number) });
  const rejected = watched.map(({ probe, after }) => ({ probe, before: probe.last ?? '', after }));
  await holdsInTime(rejected, async () => {
    await manage.ask('POST', `projects/${site.id}/restore`);
    return [];
  });
});

/** Deletes a site under load; resolves once every probe is rejected. */
async function deletedUnderLoad(site: ProbedSite, watched: readonly Watched[]): Promise<unknown> {
  await waitFor(
    'every probe to be accepted',
    () => watched.every(({ probe }) => probe.last === '200'),
    WAIT_MAX_MS,
  );
  const { deletion } = await manage.ask<{ deletion: unknown }>('DELETE', `projects/${site.id}`);
  await waitFor(
    'every probe to be rejected',
    () => watched.every(({ probe }) => probe.last === '403' || probe.last === '404'),
    WAIT_MAX_MS,
  );
  return deletion;
}

test('a changed setting is in force everywhere within two seconds', async () => {
  const site = await createSite('Changed', { cors: [OLD_PAGE], timezone: WEST });
  const secret = secretOf(site.write);
  const page = { 'service-client-id': site.write.id, 'user-agent': BROWSER };
  const sent = [
    { name: 'a path that is filtered', headers: secret, path: '/hidden/1', before: '200', after: '202' },
    { name: 'any other path', headers: secret, before: '200', after: '200' },
    { name: 'the old origin', headers: { ...page, origin: OLD_PAGE }, before: '200', after: '401' },
    { name: 'the new origin', headers: { ...page, origin: NEW_PAGE }, before: '401', after: '200' },
  ];
  const watched = [
    ...COLLECTORS.flatMap((host) =>
      sent.map(({ before, after, ...how }) => ({
        probe: tracking({ ...how, host, site: site.id }),
        before,
        after,
      })),
    ),
    ...ANSWERERS.map((host) => ({ probe: askingForZone(host, site), before: WEST, after: EAST })),
  ];
  await holdsInTime(watched, async () => {
    const settings = { cors: [NEW_PAGE], timezone: EAST, filters: { paths: ['/hidden/*'] } };
    await manage.ask('PATCH', `projects/${site.id}`, settings);
    return [];
  });
});

test('everything that was acknowledged is counted once, whatever was revoked since', async () => {
  await Promise.all(others.map(({ probe }) => probe.stop()));
  expect(acknowledged.size).toBe(7);
  const expected = Object.fromEntries(acknowledged);
  const store = cluster.openStore();
  const stored = async () =>
    Object.fromEntries(
      await Promise.all(
        [...acknowledged.keys()].map(async (site) => {
          const { events, inSessions } = await storedCounts(store, site);
          return [site, events === inSessions ? events : { events, inSessions }];
        }),
      ),
    );
  await expect.poll(stored, { timeout: WAIT_MAX_MS }).toEqual(expected);
  await store.close();
  for (const [site, count] of acknowledged) {
    const query = `projectId=${site}&event=${EVENT}&limit=1`;
    const { root } = cluster.credentials.clients;
    const { status, body } = await client.get(`${cluster.url('both')}/export/events?${query}`, root);
    if (site === 'doomed') expect(status).toBe(404);
    else expect(body).toMatchObject({ meta: { totalCount: count } });
  }
});

/** Asks repeatedly for the site's date; returns the zone that has that date. */
function askingForZone(host: string, site: ProbedSite): Probe {
  const url = `${cluster.url(host)}/insights/${site.id}/live?details=true`;
  const ask = async () => {
    const days = daysNow();
    const answer = await client.get(url, site.read);
    if (answer.status !== 200) return rejectOf(answer);
    const { minutes } = answer.body as { minutes: readonly { date: string }[] };
    const day = minutes.at(-1)?.date.slice(0, 10) ?? '';
    // A midnight may lie between question and answer.
    return days.get(day) ?? daysNow().get(day) ?? day;
  };
  return new Probe({ name: `the time zone at ${host}`, everyMs: ASK_EVERY_MS, ask });
}

/** The zones by the date that each has now. */
function daysNow(): ReadonlyMap<string, string> {
  const now = new Date();
  return new Map(
    [WEST, EAST].map((timeZone) => [
      new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(now),
      timeZone,
    ]),
  );
}
