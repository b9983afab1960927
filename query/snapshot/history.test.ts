import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { Metrics } from '../../infra/metrics.ts';
import { Store } from '../../infra/store/store.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { History } from './history.ts';
import { Requester } from './requester.ts';
import { NO_SEAM, type Seam } from './seam.ts';
import type { Statement } from './statement.ts';

// A store that takes every statement and never answers.
const server = createServer();
const connections = new Set<Socket>();
/** Requests that the store received. */
const received: string[] = [];
let store: Store;
let metrics: Metrics;
let history: History;

beforeEach(async () => {
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.on('error', () => {}).on('close', () => connections.delete(socket));
    socket.on('data', (bytes) => received.push(bytes.toString('latin1')));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  store = new Store({ url: `http://127.0.0.1:${port}`, database: 'footfall', requestTimeoutMs: 10_000 });
  metrics = new Metrics();
  const limits = { timeMaxMs: 1_000, memoryMaxBytes: 16_777_216 };
  history = new History({ shards: [{ store, streams: store, isReachable: () => true }], limits, metrics });
});

afterEach(async () => {
  await store.close();
  for (const socket of connections) socket.destroy();
  server.close();
  server.removeAllListeners();
  received.length = 0;
});

const PATIENCE = { timeout: 60_000 };

const STATEMENT: Statement<'export-extent'> = {
  name: 'export-extent',
  parameters: { site: storedId('site'), from: 1, to: 1 },
};
const STREAM = {
  seam: NO_SEAM,
  parameters: {},
  texts: { sources: 'id', format: 'JSONEachRow', order: '', settings: {} },
};

function running(queue: string): number {
  const line = new RegExp(`^query_queue_running{queue="${queue}"} (\\d+)$`, 'm');
  return Number(line.exec(metrics.expose())?.[1]);
}

test.each<[queue: string, begin: () => Promise<unknown>]>([
  ['statements', () => history.ask(STATEMENT, NO_SEAM)],
  ['streams', () => history.stream('export-stream', storedId('site'), [STREAM]).chunks.next()],
])('what runs for a client that goes away ends at once, in the store, too: %s', async (queue, begin) => {
  const client = new AbortController();
  const requester = new Requester('team', { gone: client.signal });
  const mine = requester.run(begin);
  const outcome = expect(mine).rejects.toMatchObject({ reason: 'left' });
  await expect.poll(() => connections.size, PATIENCE).toBe(1);
  expect(running(queue)).toBe(1);
  client.abort();
  await outcome;
  expect(running(queue)).toBe(0);
  expect(metrics.expose()).toContain(`query_queue_ended_total{queue="${queue}",reason="left"} 1\n`);
  // The store sees the connection close, so it ends the statement, too.
  await expect.poll(() => connections.size, PATIENCE).toBe(0);
});

test('equal statements over one seam run once; where the seam is of no moment, each runs', async () => {
  const client = new AbortController();
  const requester = new Requester('team', { gone: client.signal });
  const seam = { ...NO_SEAM };
  const ask = (over: Seam) => requester.run(() => history.ask(STATEMENT, over)).catch(() => undefined);
  const same = [ask(seam), ask(seam)];
  await expect.poll(() => connections.size, PATIENCE).toBe(1);
  const each = [ask(NO_SEAM), ask(NO_SEAM)];
  await expect.poll(() => connections.size, PATIENCE).toBe(3);
  expect(running('statements')).toBe(3);
  client.abort();
  await Promise.all([...same, ...each]);
});

test('statements of a team over its share give way to those of another team', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const client = new AbortController();
  const asked: Promise<unknown>[] = [];
  const heads = () => received.filter((bytes) => bytes.startsWith('POST'));
  const ask = async (team: string, site: StoredId) => {
    const requester = new Requester(team, { gone: client.signal });
    const statement = { ...STATEMENT, parameters: { ...STATEMENT.parameters, site } };
    asked.push(requester.run(() => history.ask(statement, NO_SEAM)).catch(() => undefined));
    await expect.poll(() => heads().length, PATIENCE).toBe(asked.length);
    const query = new URLSearchParams(/\?(\S*)/.exec(heads().at(-1) ?? '')?.[1]);
    return [query.get('priority'), query.get('max_threads')];
  };
  try {
    // Without other teams, it has the store and all threads of a statement.
    for (const site of ['a', 'b', 'c']) expect(await ask('busy', storedId(site))).toEqual(['1', null]);
    expect(await ask('busy', storedId('d'))).toEqual(['21', null]);
    expect(await ask('other', storedId('e'))).toEqual(['1', null]);
    expect(await ask('busy', storedId('f'))).toEqual(['21', '1']);
  } finally {
    client.abort();
    await Promise.all(asked);
    vi.useRealTimers();
  }
});
