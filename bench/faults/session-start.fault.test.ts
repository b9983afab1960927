import { afterAll, beforeAll, expect, test } from 'vitest';
import { MINUTE_MS } from '../../infra/durations.ts';
import { Cluster } from '../cluster/cluster.ts';
import { eventually, SiteOfCluster } from '../cluster/site-of-cluster.ts';

const SITE = 'demo';
let cluster: Cluster;
let site: SiteOfCluster;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { FLUSH_INTERVAL_MS: '100', LOG_LEVEL: 'warn' },
  });
  await cluster.ready('web');
  site = new SiteOfCluster(cluster, 'web');
});

afterAll(() => cluster?.stop());

interface Listed {
  readonly id: string;
  readonly startedAt: string;
  readonly entryPath: string;
  readonly referrerName: string;
}

const nowMs = Date.now();
const at = (minutesAgo: number) => new Date(nowMs - minutesAgo * MINUTE_MS).toISOString();

async function view(minutesAgo: number, path: string, more: object = {}): Promise<string> {
  const properties = { __deviceId: 'late', __path: path, __timestamp: at(minutesAgo), ...more };
  const { status, body } = await site.send('track', { name: 'screen_view', properties });
  expect(status).toBe(200);
  return String(body.sessionId);
}

async function listed(): Promise<readonly Listed[]> {
  const { body } = await site.ask(
    `/insights/${SITE}/sessions?range=custom&startDate=${at(90)}&endDate=${at(-1)}`,
  );
  return body as unknown as readonly Listed[];
}

test('session_start is the event that arrived first, though an earlier one moves start and entry of its session', async () => {
  const sessionId = await view(10, 'https://shop.example/second');
  const first = await eventually('the session', async () => (await listed())[0]);
  expect(first).toMatchObject({ id: sessionId, startedAt: at(10), entryPath: '/second', referrerName: '' });
  const started = { createdAt: at(10), path: '/second', referrerName: '', sessionId };
  expect(await site.events('event=session_start')).toMatchObject([started]);
  const google = { __referrer: 'https://www.google.com/' };
  expect(await view(20, 'https://shop.example/first', google)).toBe(sessionId);
  const moved = await eventually('the moved session', async () => {
    const [session] = await listed();
    return session?.startedAt === at(20) ? session : undefined;
  });
  expect(moved).toMatchObject({ id: sessionId, entryPath: '/first', referrerName: 'Google' });
  // Stored once, as it was: the same on a page, in a stream, and after both events have reached the store.
  expect(await site.events('event=session_start')).toMatchObject([started]);
  await site.eventsOnceThere('event=screen_view', 2);
  const { id, secret } = cluster.credentials.clients.read;
  const streamed = await fetch(
    `${cluster.url('web')}/export/events.ndjson?event=session_start&includes=referrer`,
    { headers: { 'service-client-id': id, 'service-client-secret': secret } },
  );
  const rows = (await streamed.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(rows).toMatchObject([started]);
});

test.each(['/export/events', '/export/events.ndjson', '/insights/{projectId}/events'])(
  'the documentation of %s says what session_start is',
  async (path) => {
    const { body } = await site.exchange('/openapi.json', {});
    const paths = body.paths as Readonly<Record<string, { get: { description: string } }>>;
    expect(paths[path]?.get.description).toMatch(
      /`session_start` is stored once, .* of the event that opened its session, .* arrived first/,
    );
  },
);
