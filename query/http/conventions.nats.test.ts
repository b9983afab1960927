import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  CONTROL_BUCKET,
  clientKeyOf,
  clientSchema,
  encodeRecord,
  siteKeyOf,
  siteSchema,
  teamKeyOf,
} from '../../infra/accounts/accounts.ts';
import { createSecret, hashSecret } from '../../infra/accounts/client-auth.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { systemClock } from '../../infra/clock.ts';
import { readConfig } from '../../infra/config.ts';
import { HttpServer } from '../../infra/http/http.ts';
import { addOperations } from '../../infra/http/operations.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import type { Mounted } from '../../infra/process/host.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { mountCollector } from '../../ingest/testing/collector.ts';
import { mount } from '../main.ts';
import type { OpenApiDocument, OperationObject } from '../openapi/open-api.ts';

// Common properties of every endpoint, over every operation of the description, in one process that runs all of them. There is no
// store and no owner, so most questions are answered 503: the compared properties are the same then.

const AT = '2026-01-01T00:00:00.000Z';
const log = createLogger('test', 'silent');

let nats: NatsServer;
let bus: Bus;
let http: HttpServer;
let mounted: readonly Mounted[] = [];
let baseUrl = '';
let credentials: Record<string, string> = {};

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'test' }, log);
  http = new HttpServer((error) => {
    throw error;
  });
  const config = readConfig({
    NATS_URL: nats.url,
    CLICKHOUSE_URL: 'http://127.0.0.1:1',
    BUS_BYTES_MAX: '67108864',
    QUERY_LIMIT_PER_10_S: '0',
    MANAGE_LIMIT_PER_10_S: '0',
    SECRETS_KEY: '0123456789abcdef'.repeat(4),
  });
  credentials = await storeRoot();
  const metrics = new Metrics();
  const context = {
    config,
    log,
    metrics,
    bus,
    http,
    clock: systemClock,
    crashPoint: () => {},
    lanes: ServiceLanes.fixed(1),
  };
  mounted = [await mountCollector(context), await mount(context)];
  addOperations(http, { metrics, readiness: () => ({ ready: true, shown: {} }), mayRead: () => true });
  baseUrl = `http://127.0.0.1:${await http.listen('127.0.0.1', 0)}`;
  document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as OpenApiDocument;
});

let document: OpenApiDocument;

afterAll(async () => {
  for (const service of mounted) await service.stop();
  http.close();
  await bus.close();
  await nats.stop();
});

/** Stores a team with the site `shop` and a root client; returns the headers of the client. */
async function storeRoot(): Promise<Record<string, string>> {
  const control = await bus.keyed(CONTROL_BUCKET);
  const stamp = { createdAt: AT, updatedAt: AT };
  await control.put(teamKeyOf('team'), encodeRecord({ id: 'team', name: 'team', ...stamp }), 0);
  const site = siteSchema.parse({ id: 'shop', teamId: 'team', name: 'shop', ...stamp });
  await control.put(siteKeyOf('shop'), encodeRecord(site), 0);
  const id = randomUUID();
  const secret = createSecret();
  const client = clientSchema.parse({
    id,
    name: 'root',
    type: 'root',
    projectId: null,
    teamId: 'team',
    ...stamp,
    secretHash: hashSecret(secret),
  });
  await control.put(clientKeyOf(id), encodeRecord(client), 0);
  return { 'service-client-id': id, 'service-client-secret': secret };
}

interface ServiceAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

function ask(
  method: string,
  path: string,
  headers: Record<string, string> = credentials,
): Promise<ServiceAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(baseUrl + path, { method, headers }, (incoming) => {
      let text = '';
      incoming.setEncoding('latin1');
      const answered = () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text });
      incoming.on('data', (part: string) => {
        text += part;
        // It has no end.
        if (incoming.headers['content-type'] !== 'text/event-stream') return;
        answered();
        outgoing.destroy();
      });
      incoming.once('end', answered);
      incoming.once('error', reject);
    });
    outgoing.once('error', reject);
    outgoing.end();
  });
}

interface Described {
  readonly path: string;
  readonly tag: string;
}

/** Every GET operation, as a path that can be requested. */
function everyGet(): readonly Described[] {
  return Object.entries(document.paths).flatMap(([path, { get }]) =>
    get === undefined ? [] : [{ path: pathOf(path, get), tag: get.tags[0] ?? '' }],
  );
}

function pathOf(path: string, { parameters }: OperationObject): string {
  const filled = path.replace('{projectId}', 'shop').replace(/\{\w+\}/g, 'unknown');
  const query = parameters.flatMap(({ name, in: place, required, example, content }): [string, string][] => {
    const value = example ?? Object.values(content ?? {})[0]?.example;
    if (place !== 'query' || required !== true) return [];
    return [[name, typeof value === 'string' ? value : JSON.stringify(value)]];
  });
  return query.length === 0 ? filled : `${filled}?${new URLSearchParams(query)}`;
}

const CHANGING = ['date', 'transfer-encoding', 'server-timing'];

test('HEAD answers as GET does, for every GET of the description', { timeout: 120_000 }, async () => {
  const described = everyGet();
  expect(described.length).toBeGreaterThan(50);
  const wrong = await Promise.all(
    described.map(async ({ path }) => {
      const [got, head] = [await ask('GET', path), await ask('HEAD', path)];
      const headersOf = ({ headers }: ServiceAnswer) =>
        Object.entries(headers)
          // The metrics count the requests themselves.
          .filter(([name]) => !CHANGING.includes(name) && (name !== 'content-length' || path !== '/metrics'))
          .map(([name, value]) => `${name}: ${value}`)
          .sort();
      const [expected, actual] = [got, head].map((one) => [`${one.status}`, ...headersOf(one)].join('\n'));
      if (expected === actual && head.text === '' && got.text !== '') return undefined;
      return { path, expected, actual };
    }),
  );
  expect(wrong.filter((one) => one !== undefined)).toEqual([]);
});

test('every answer to a client is for this client only', { timeout: 120_000 }, async () => {
  const described = everyGet().filter(({ tag }) => ['Insights', 'Export', 'Manage'].includes(tag));
  const stored = await Promise.all(
    described.flatMap(({ path }) => [
      ask('GET', path),
      ask('GET', path, {}),
      ask('GET', `${path}${path.includes('?') ? '&' : '?'}surprise=1`),
    ]),
  );
  expect(stored.filter(({ headers }) => headers['cache-control'] !== 'no-store')).toEqual([]);
  expect(new Set(stored.map(({ status }) => status))).toEqual(new Set([200, 400, 401, 404, 503]));
});

test('the device of a visitor is for this visitor only', async () => {
  const answer = await ask('GET', '/track/device-id?projectId=shop', {
    ...credentials,
    'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/127.0',
  });
  expect([answer.status, answer.headers['cache-control']]).toEqual([200, 'no-store']);
});

test('an answer with a secret is not stored', async () => {
  const created = await fetch(`${baseUrl}/manage/clients`, {
    method: 'POST',
    headers: { ...credentials, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'new', type: 'read', projectId: 'shop' }),
  });
  expect(await created.text()).toMatch(/sec_[0-9a-f]{40}/);
  expect([created.status, created.headers.get('cache-control')]).toEqual([200, 'no-store']);
});

describe('an unknown parameter', () => {
  test('is rejected by name in every question, export and management request', async () => {
    const described = everyGet().filter(({ tag }) => ['Insights', 'Export', 'Manage'].includes(tag));
    expect(described.length).toBeGreaterThan(40);
    const wrong = await Promise.all(
      described.map(async ({ path }) => {
        const target = `${path}${path.includes('?') ? '&' : '?'}surprise=1&cb=2`;
        const { status, text } = await ask('GET', target);
        return status === 400 && text.includes('"surprise, cb: no such parameter; expected ')
          ? undefined
          : { target, status, text };
      }),
    );
    expect(wrong.filter((one) => one !== undefined)).toEqual([]);
  });

  test('has no effect on pages, scripts, probes and collection', async () => {
    const described = everyGet().filter(({ tag }) => ['Track', 'Operations'].includes(tag));
    const statuses = await Promise.all(
      described.map(async ({ path }) => {
        const [without, added] = [path, `${path}${path.includes('?') ? '&' : '?'}cb=2`];
        return [path, (await ask('GET', without)).status, (await ask('GET', added)).status];
      }),
    );
    expect(statuses.filter(([, without, added]) => without !== added)).toEqual([]);
    expect(statuses.length).toBeGreaterThan(8);
  });
});

test('a compressed record can be changed by its ETag', async () => {
  const change = (fields: object, headers: Record<string, string> = {}) =>
    fetch(`${baseUrl}/manage/projects/shop`, {
      method: 'PATCH',
      headers: { ...credentials, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(fields),
    });
  const cors = Array.from({ length: 50 }, (_, index) => `https://shop-${index}.example`);
  expect((await change({ cors })).status).toBe(200);
  const read = (encoding: string) =>
    ask('GET', '/manage/projects/shop', { ...credentials, 'accept-encoding': encoding });
  const zipped = (await read('gzip')).headers.etag;
  const plain = (await read('identity')).headers.etag;
  expect(zipped).toBe(String(plain).replace(/"$/, '-gzip"'));
  expect((await change({ name: 'Once' }, { 'if-match': String(zipped) })).status).toBe(200);
  expect((await change({ name: 'Twice' }, { 'if-match': String(zipped) })).status).toBe(412);
});

// The last test: its requests without a secret use up the failures allowed to their address.
test('every answer forbids sniffing, whatever is asked of whatever path', { timeout: 120_000 }, async () => {
  const paths = new Set(
    http.routes().map(({ pattern }) => pattern.replace(':projectId', 'shop').replace(/:\w+/g, 'unknown')),
  );
  expect(paths.size).toBeGreaterThan(50);
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];
  const statuses = new Set<number>();
  const upgrade = {
    connection: 'upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  };
  const requests = [...paths, '/nothing', '/insights/unknown/nothing'].flatMap((path) => [
    ...methods.map((method) => ({ method, path, headers: {} })),
    { method: 'GET', path, headers: credentials },
    { method: 'GET', path, headers: { 'if-none-match': '*' } },
    { method: 'GET', path, headers: upgrade },
  ]);
  const sniffed: string[] = [];
  for (const { method, path, headers } of requests) {
    const answer = await ask(method, path, headers);
    statuses.add(answer.status);
    if (answer.headers['x-content-type-options'] !== 'nosniff') sniffed.push(`${method} ${path}`);
  }
  expect(sniffed).toEqual([]);
  for (const status of [200, 204, 304, 401, 404, 405, 503]) expect([...statuses]).toContain(status);
});
