import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
import type { OpenApiDocument } from './open-api.ts';

const log = createLogger('test', 'silent');

let nats: NatsServer;
let bus: Bus;
let http: HttpServer;
let mounted: readonly Mounted[] = [];
let baseUrl = '';

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
  });
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
});

afterAll(async () => {
  for (const service of mounted) await service.stop();
  http.close();
  await bus.close();
  await nats.stop();
});

test('routes and described operations are the same', async () => {
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as OpenApiDocument;
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
  );
  const routes = http.routes().map(({ method, pattern }) => `${method} ${pattern}`);
  expect(described.sort()).toEqual(routes.sort());
  expect(routes.length).toBeGreaterThan(50);
});

describe.each([
  ['/openapi.json', 'application/json; charset=utf-8', '{"openapi":"3.1.0"'],
  ['/documentation', 'text/html; charset=utf-8', '<!doctype html>'],
  ['/documentation/viewer.js', 'text/javascript; charset=utf-8', ''],
])('%s', (path, contentType, beginning) => {
  test('is public and names its release', async () => {
    const response = await fetch(baseUrl + path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(contentType);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('service-version')).toMatch(/^\d+\.\d+\.\d+/);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expect((await response.text()).startsWith(beginning)).toBe(true);
  });

  test('returns 304 for the current ETag, in every encoding', async () => {
    for (const encoding of ['br', 'gzip', 'identity']) {
      const headers = { 'accept-encoding': encoding };
      const first = await fetch(baseUrl + path, { headers });
      const etag = first.headers.get('etag') ?? '';
      expect(etag).toMatch(/^"[\w-]+"$/);
      const again = await fetch(baseUrl + path, { headers: { ...headers, 'if-none-match': `W/${etag}` } });
      expect(again.status).toBe(304);
      expect(await again.text()).toBe('');
      const other = await fetch(baseUrl + path, { headers: { ...headers, 'if-none-match': '"other"' } });
      expect(other.status).toBe(200);
    }
  });

  test('is compressed on request, with an ETag per encoding', async () => {
    const get = (encoding: string) => fetch(baseUrl + path, { headers: { 'accept-encoding': encoding } });
    const plain = await get('identity');
    const zipped = await get('deflate, gzip');
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(zipped.headers.get('etag')).not.toBe(plain.headers.get('etag'));
    expect((await get('gzip;q=0')).headers.get('content-encoding')).toBeNull();
    // `fetch` has already decoded the body.
    expect(await zipped.text()).toBe(await plain.text());
  });
});

test('the page runs scripts of this origin only, and links to the document without JavaScript', async () => {
  const response = await fetch(`${baseUrl}/documentation`);
  const policy = response.headers.get('content-security-policy');
  expect(policy).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; /,
  );
  const page = await response.text();
  expect(page).toMatch(/<noscript>.*<a href="openapi\.json">.*<\/noscript>/);
  expect([...page.matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, address]) => address)).toEqual([
    'data:,',
    'openapi.json',
    'openapi.json',
    'documentation/viewer.js',
  ]);
});
