import { request } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import { HttpServer } from '../http/http.ts';
import { addOperations } from '../http/operations.ts';
import { Metrics } from '../metrics.ts';
import { isExposed, isLoopback } from './exposure.ts';
import { type OperationsRule, operationsAccess } from './operations-access.ts';

const TOKEN = 'a-token-of-the-operator';
const DETAIL = 'stats-bus.internal:4222';

let server: HttpServer;
let isReady = true;
afterEach(() => server.close());

async function startWith(rule: OperationsRule): Promise<number> {
  server = new HttpServer((error) => {
    throw error;
  });
  const metrics = new Metrics();
  metrics.counter('things_total', 'Things.').add(3);
  addOperations(server, {
    metrics,
    readiness: () => ({ ready: isReady, shown: { dependencies: [DETAIL] } }),
    mayRead: operationsAccess(rule),
  });
  return server.listen('127.0.0.1', 0);
}

interface OperationsAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

function ask(port: number, path: string, headers: Record<string, string> = {}): Promise<OperationsAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, headers, agent: false }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (part: string) => {
        text += part;
      });
      incoming.once('end', () =>
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }),
      );
    });
    outgoing.once('error', reject);
    outgoing.end();
  });
}

/** True if a request reads metrics and details; throws when it reads only one of the two. */
async function reads(port: number, headers: Record<string, string>): Promise<boolean> {
  const [metrics, ready] = [await ask(port, '/metrics', headers), await ask(port, '/healthz/ready', headers)];
  expect(ready.status).toBe(200);
  if (metrics.status === 200) {
    expect(metrics.text).toContain('things_total 3');
    expect(JSON.parse(ready.text)).toEqual({ status: 'ready', dependencies: [DETAIL] });
    return true;
  }
  expect([metrics.status, metrics.headers['www-authenticate']]).toEqual([401, 'Bearer']);
  expect(JSON.parse(metrics.text)).toMatchObject({ status: 401, error: 'Unauthorized' });
  expect(ready.text).toBe('{"status":"ready"}');
  return false;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe.each([true, false])('with a token, exposed: %s', (exposed) => {
  test('only the token opens metrics and details', async () => {
    const port = await startWith({ token: TOKEN, isExposed: exposed });
    expect(await reads(port, bearer(TOKEN))).toBe(true);
    expect(await reads(port, { authorization: `bearer  ${TOKEN}` })).toBe(true);
    expect(await reads(port, { ...bearer(TOKEN), 'x-forwarded-for': '8.8.8.8' })).toBe(true);
    for (const headers of [
      {},
      bearer(''),
      bearer(`${TOKEN}x`),
      bearer(TOKEN.slice(1)),
      bearer(TOKEN.toUpperCase()),
      { authorization: TOKEN },
      { authorization: `Basic ${TOKEN}` },
      { authorization: `Bearer ${TOKEN} ${TOKEN}` },
    ])
      expect([headers, await reads(port, headers)]).toEqual([headers, false]);
  });
});

test('without a token, an exposed process shows nothing to any sender', async () => {
  const port = await startWith({ token: '', isExposed: true });
  for (const headers of [{}, bearer(''), bearer(TOKEN), { host: 'localhost' }])
    expect([headers, await reads(port, headers)]).toEqual([headers, false]);
});

test('without a token, a request of this machine reads, and one that a proxy passed on does not', async () => {
  const port = await startWith({ token: '', isExposed: false });
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'LOCALHOST', '127.1.2.3', `[::1]:${port}`])
    expect([host, await reads(port, { host })]).toEqual([host, true]);
  for (const host of ['stats.example', 'localhost.stats.example', '127.0.0.1.stats.example', '[::2]'])
    expect([host, await reads(port, { host })]).toEqual([host, false]);
  for (const name of [
    'x-forwarded-for',
    'x-real-ip',
    'forwarded',
    'cf-connecting-ip',
    'true-client-ip',
    'x-forwarded-host',
    'x-forwarded-proto',
    'via',
  ])
    expect([name, await reads(port, { [name]: '127.0.0.1' })]).toEqual([name, false]);
});

test('a process that is not ready says so to every sender, and why to readers', async () => {
  isReady = false;
  const port = await startWith({ token: TOKEN, isExposed: true });
  const [stranger, reader] = [
    await ask(port, '/healthz/ready'),
    await ask(port, '/healthz/ready', bearer(TOKEN)),
  ];
  isReady = true;
  expect([stranger.status, stranger.text]).toEqual([503, '{"status":"not ready"}']);
  expect([reader.status, JSON.parse(reader.text)]).toEqual([
    503,
    { status: 'not ready', dependencies: [DETAIL] },
  ]);
  expect((await ask(port, '/healthz/live')).text).toBe('{"status":"live"}');
});

test('every answer forbids sniffing', async () => {
  const port = await startWith({ token: TOKEN, isExposed: true });
  const paths = [...server.routes().map(({ pattern }) => pattern), '/nothing'];
  expect(paths.length).toBeGreaterThan(4);
  for (const path of paths)
    for (const headers of [{}, bearer(TOKEN), { 'if-none-match': '*' }])
      expect([path, (await ask(port, path, headers)).headers['x-content-type-options']]).toEqual([
        path,
        'nosniff',
      ]);
});

test.each([
  [{}, false],
  [{ HOST: 'localhost' }, false],
  [{ HOST: '127.0.0.5' }, false],
  [{ HOST: '::1' }, false],
  [{ HOST: '0.0.0.0' }, true],
  [{ HOST: '::' }, true],
  [{ HOST: '192.168.1.2' }, true],
  [{ HOST: 'stats.example' }, true],
  [{ BASE_URL: 'https://stats.example' }, true],
  [{ TRUSTED_PROXIES: '127.0.0.1' }, true],
])('with %j strangers may reach the service: %s', (env, exposed) => {
  expect(isExposed(readConfig(env))).toBe(exposed);
});

test('only loopback is loopback', () => {
  for (const host of ['127.0.0.1', '[::1]', 'Localhost'])
    expect([host, isLoopback(host)]).toEqual([host, true]);
  for (const host of ['127.example', '128.0.0.1', 'localhost.example', '::ffff:8.8.8.8', ''])
    expect([host, isLoopback(host)]).toEqual([host, false]);
});

test.each(['short', 'a token with spaces', '💥'.repeat(16)])('OPERATIONS_TOKEN=%s is rejected', (token) => {
  expect(() => readConfig({ OPERATIONS_TOKEN: token })).toThrow(/^OPERATIONS_TOKEN: /);
});
