import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { release } from '../root.ts';
import { HttpServer } from './http.ts';
import { addStaticAsset } from './static-asset.ts';

// Properties that every answer of every server has in common: HEAD, the release, and compression.

const LONG = JSON.stringify(
  Array.from({ length: 200 }, (_, index) => ({ name: `row ${index}`, count: index })),
);
const SHORT = '{"here":true}';
const ASSET = 'a text that does not change '.repeat(100);
const PICTURE = Uint8Array.from({ length: 5_000 }, (_, index) => index % 7);

let server: HttpServer;
let port: number;
/** One connection, so that anything sent after an answer would be read as the next answer. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

beforeAll(async () => {
  server = new HttpServer(() => {});
  const get = (pattern: string, answer: Parameters<typeof server.route>[0]['answer']) =>
    server.route({
      method: 'get',
      pattern,
      bodyMaxBytes: 0,
      cors: undefined,
      readHead: () => undefined,
      answer,
    });
  get('/short', (_head, _body, reply) => reply.json(200, SHORT));
  get('/long', (_head, _body, reply) => reply.json(200, LONG, [['etag', '"7"']]));
  get('/missing', (_head, _body, reply) => reply.json(404, LONG));
  get('/metrics', (_head, _body, reply) => reply.send(200, ASSET, [['content-type', 'text/plain']]));
  get('/picture', (_head, _body, reply) => reply.send(200, PICTURE, [['content-type', 'image/png']]));
  get('/unchanged', (_head, _body, reply) => reply.send(304, '', [['etag', '"7"']]));
  get('/elsewhere', (_head, _body, reply) => reply.send(302, '', [['location', '/short']]));
  get('/failing', () => {
    throw new Error('on purpose');
  });
  get('/rows', (_head, _body, reply) =>
    reply.stream(200, [['content-type', 'application/x-ndjson']], rowsOf(['{"a":1}\n', '{"a":2}\n'])),
  );
  get('/columns', (_head, _body, reply) =>
    reply.stream(200, [['content-type', 'application/vnd.apache.parquet']], rowsOf(['PAR1', 'PAR1'])),
  );
  get('/nothing-to-stream', (_head, _body, reply) =>
    reply.stream(200, [['content-type', 'text/csv']], failing()),
  );
  server.route({
    method: 'post',
    pattern: '/taken',
    bodyMaxBytes: 10,
    cors: [['access-control-allow-origin', '*']],
    readHead: () => undefined,
    answer: (_head, body, reply) => reply.json(200, JSON.stringify(body.length)),
  });
  addStaticAsset(server, ['/asset'], {
    body: Buffer.from(ASSET),
    contentType: 'text/plain; charset=utf-8',
    maxAgeS: 60,
    headers: [],
    cors: undefined,
  });
  port = await server.listen('127.0.0.1', 0);
});

afterAll(() => {
  agent.destroy();
  server.close();
});

async function* rowsOf(texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

// biome-ignore lint/correctness/useYield: it fails before the first chunk
async function* failing(): AsyncGenerator<Uint8Array> {
  throw new Error('the source is away');
}

interface ServerAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

function ask(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  sent = '',
): Promise<ServerAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path, agent, headers }, (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.once('end', () =>
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(parts) }),
      );
      incoming.once('error', reject);
    });
    outgoing.once('error', reject);
    outgoing.end(sent);
  });
}

const EVERY_GET = [
  ['/short', 200],
  ['/long', 200],
  ['/missing', 404],
  ['/metrics', 200],
  ['/picture', 200],
  ['/unchanged', 304],
  ['/elsewhere', 302],
  ['/failing', 500],
  ['/rows', 200],
  ['/columns', 200],
  ['/nothing-to-stream', 500],
  ['/asset', 200],
  ['/no/such/path', 404],
] as const;

describe.each(['identity', 'gzip', 'br'])('with accept-encoding: %s', (encoding) => {
  test.each(EVERY_GET)('HEAD %s answers as GET does (%i), without a body', async (path, status) => {
    const wanted = { 'accept-encoding': encoding };
    const got = await ask('GET', path, wanted);
    const head = await ask('HEAD', path, wanted);
    expect([got.status, head.status]).toEqual([status, status]);
    expect(head.body.length).toBe(0);
    const { date: _gotAt, 'transfer-encoding': _chunked, ...expected } = got.headers;
    const { date: _headAt, ...headers } = head.headers;
    expect(headers).toEqual(expected);
    // The connection continues: no byte of the body follows the head.
    expect((await ask('GET', '/short')).body.toString()).toBe(SHORT);
  });
});

test('HEAD of a path without GET is 405 and names what is allowed', async () => {
  const answer = await ask('HEAD', '/taken');
  expect([answer.status, answer.headers.allow, answer.body.length]).toEqual([405, 'POST, OPTIONS', 0]);
  expect((await ask('DELETE', '/short')).headers.allow).toBe('GET, HEAD, OPTIONS');
  expect((await ask('OPTIONS', '/short')).headers.allow).toBe('GET, HEAD, OPTIONS');
});

test.each<[string, number, () => Promise<ServerAnswer>]>([
  ...EVERY_GET.map(
    ([path, status]) =>
      [`GET ${path}`, status, () => ask('GET', path)] as [string, number, () => Promise<ServerAnswer>],
  ),
  ['another method', 405, () => ask('DELETE', '/short')],
  ['a preflight', 204, () => ask('OPTIONS', '/taken')],
  ['a POST', 200, () => ask('POST', '/taken', {}, '{}')],
  ['a body that is too large', 413, () => ask('POST', '/taken', {}, 'x'.repeat(100))],
])('the answer to %s (%i) names the release and forbids sniffing', async (_what, status, asked) => {
  const answer = await asked();
  expect(answer.status).toBe(status);
  expect(answer.headers['service-version']).toBe(release());
  expect(answer.headers['x-content-type-options']).toBe('nosniff');
});

describe('compression', () => {
  test.each([
    ['', undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['GZIP', 'gzip'],
    ['br;q=0.5, gzip;q=0.9', 'gzip'],
    ['gzip;q=0.5, identity', undefined],
    ['gzip, identity;q=0.5', 'gzip'],
    ['gzip;q=0', undefined],
    ['br;q=0, gzip;q=0.001', 'gzip'],
    ['*', 'gzip'],
    ['*;q=0', undefined],
    ['br, *;q=0', 'br'],
    ['gzip;q=0, *', 'br'],
    ['deflate', undefined],
    ['gzip;q=nonsense', undefined],
  ])('accept-encoding: %s is answered with %s', async (accepted, encoding) => {
    const headers: Record<string, string> = accepted === '' ? {} : { 'accept-encoding': accepted };
    const answer = await ask('GET', '/long', headers);
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(answer.headers.vary).toBe('accept-encoding');
    expect(decoded(answer)).toBe(LONG);
    expect(answer.headers['content-length']).toBe(String(answer.body.length));
    if (encoding !== undefined) expect(answer.body.length).toBeLessThan(LONG.length / 2);
  });

  test('an encoding has its own ETag', async () => {
    const tags = ['identity', 'gzip', 'br'].map(
      async (encoding) => (await ask('GET', '/long', { 'accept-encoding': encoding })).headers.etag,
    );
    expect(await Promise.all(tags)).toEqual(['"7"', '"7-gzip"', '"7-br"']);
  });

  test('errors and texts are compressed; what is short or compressed already is not', async () => {
    const encodingOf = async (path: string) =>
      (await ask('GET', path, { 'accept-encoding': 'gzip' })).headers['content-encoding'];
    expect(await encodingOf('/missing')).toBe('gzip');
    expect(await encodingOf('/metrics')).toBe('gzip');
    expect(await encodingOf('/short')).toBeUndefined();
    expect(await encodingOf('/picture')).toBeUndefined();
    expect(await encodingOf('/columns')).toBeUndefined();
    expect((await ask('GET', '/picture', { 'accept-encoding': 'gzip' })).body.equals(PICTURE)).toBe(true);
  });

  test.each(['gzip', 'br'])('a stream is compressed as it comes (%s)', async (encoding) => {
    const answer = await ask('GET', '/rows', { 'accept-encoding': encoding });
    expect(answer.headers).toMatchObject({ 'content-encoding': encoding, vary: 'accept-encoding' });
    expect(decoded(answer)).toBe('{"a":1}\n{"a":2}\n');
  });

  test('a source that fails before its first chunk is still another answer', async () => {
    const answer = await ask('GET', '/nothing-to-stream', { 'accept-encoding': 'gzip' });
    expect(answer.status).toBe(500);
    expect(JSON.parse(decoded(answer))).toMatchObject({ status: 500 });
  });

  test('answers on one connection keep their order', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        ask('GET', index % 2 === 0 ? '/long' : '/short', { 'accept-encoding': 'gzip' }),
      ),
    );
    expect(answers.map(decoded)).toEqual(answers.map((_, index) => (index % 2 === 0 ? LONG : SHORT)));
  });
});

function decoded({ headers, body }: ServerAnswer): string {
  switch (headers['content-encoding']) {
    case 'br':
      return brotliDecompressSync(body).toString();
    case 'gzip':
      return gunzipSync(body).toString();
    default:
      return body.toString();
  }
}
