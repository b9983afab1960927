import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { inspect } from 'node:util';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { failureOf } from '../testing/bucket-failure.ts';
import { type Fault, type FaultProxy, startFaultProxy } from '../testing/fault-proxy.ts';
import { type LoopbackServer, startHttp, startSockets } from '../testing/loopback.ts';
import { S3_KEY, S3_REGION, type S3Server, startS3 } from '../testing/s3-server.ts';
import { type BucketFailure, ObjectStore } from './object-store.ts';

const TEXT = { contentType: 'text/plain' };
const SHORT_MS = 250;
const SECRET = 'hush-This/Is+The=Secret';

let s3: S3Server;
let proxy: FaultProxy;
let store: ObjectStore;
const opened: { close(): void }[] = [];
const servers: LoopbackServer[] = [];

beforeAll(async () => {
  s3 = await startS3({ buckets: ['events'] });
});
beforeEach(async () => {
  proxy = await startFaultProxy(s3.endpoint);
  store = openStore(proxy.endpoint);
  await openStore(s3.endpoint).put('there', Buffer.from('something to read'), TEXT);
});
afterEach(async () => {
  for (const each of opened.splice(0)) each.close();
  await Promise.all([proxy.stop(), ...servers.splice(0).map((server) => server.stop())]);
});
afterAll(() => s3.stop());

function openStore(
  endpoint: string,
  timeoutMs = 10_000,
  secretAccessKey: string = S3_KEY.secretAccessKey,
  sessionToken?: string,
) {
  const access = {
    endpoint,
    region: S3_REGION,
    bucket: 'events',
    pathStyle: true,
    ...S3_KEY,
    secretAccessKey,
    sessionToken,
  };
  const each = new ObjectStore({ access, mayConnect: () => true, timeoutMs });
  opened.push(each);
  return each;
}

async function serve(
  starting: Promise<LoopbackServer>,
): Promise<{ server: LoopbackServer; endpoint: string }> {
  const server = await starting;
  servers.push(server);
  return { server, endpoint: `http://127.0.0.1:${server.port}` };
}

const OPERATIONS: [name: string, run: (each: ObjectStore) => Promise<unknown>][] = [
  ['writing', (each) => each.put('written', Buffer.from('written'), TEXT)],
  ['reading', (each) => each.get('there', 100)],
  ['removing', (each) => each.remove('there')],
  ['listing', (each) => each.list('', 10)],
  ['reading a piece', (each) => each.getPiece('there', 0, 100)],
  ['beginning an upload', (each) => each.beginUpload('in parts', TEXT)],
  ['listing uploads', (each) => each.openUploads('')],
];

describe.each(OPERATIONS)('%s', (_name, run) => {
  test.each<[BucketFailure, number, string?]>([
    ['failed', 500],
    ['failed', 500, 'InternalError'],
    ['failed', 400, 'constructor'],
    ['failed', 404],
    ['failed', 418],
    ['slow', 503],
    ['slow', 503, 'SlowDown'],
    ['slow', 429],
    ['slow', 400, 'RequestTimeout'],
    ['denied', 401],
    ['denied', 403],
    ['denied', 403, 'RequestTimeTooSkewed'],
    ['denied', 400, 'ExpiredToken'],
    ['denied', 403, 'SignatureDoesNotMatch'],
    ['no-bucket', 404, 'NoSuchBucket'],
    ['full', 507],
    ['full', 507, 'XMinioStorageFull'],
    ['full', 400, 'EntityTooLarge'],
    ['full', 403, 'QuotaExceeded'],
  ])('is %s when the answer is %i %s', async (failure, status, code) => {
    proxy.fail({ fault: { kind: 'answer', status, ...(code === undefined ? {} : { code }) } });
    const error = await failureOf(run(store));
    expect(error).toMatchObject({ failure, status, code });
    expect(error.message).toContain(String(status));
    expect(proxy.log).toHaveLength(1);
  });

  test.each<[BucketFailure, Fault, boolean]>([
    ['unreachable', { kind: 'drop' }, false],
    ['unreachable', { kind: 'lose' }, true],
    ['unreachable', { kind: 'cut' }, true],
    ['slow', { kind: 'hang' }, false],
    ['slow', { kind: 'stall' }, true],
    ['slow', { kind: 'drip', ms: 20 }, true],
  ])('is %s after %j, and is not repeated', async (failure, fault, isPassedOn) => {
    proxy.fail({ fault });
    const timeoutMs = failure === 'slow' ? SHORT_MS : 10_000;
    expect(await failureOf(run(openStore(proxy.endpoint, timeoutMs)))).toMatchObject({ failure });
    expect(proxy.log).toHaveLength(1);
    if (isPassedOn) await expect.poll(() => proxy.log[0]?.status).toBeDefined();
    else expect(proxy.log[0]?.status).toBeUndefined();
  });

  test('succeeds when the answer is slow, and after a fault that is over', async () => {
    proxy.fail({ fault: { kind: 'slow', ms: 50 }, times: 1 });
    proxy.fail({ fault: { kind: 'answer', status: 500 }, times: 1 });
    await run(store);
    expect(await failureOf(run(store))).toMatchObject({ failure: 'failed' });
    await run(store);
    expect(proxy.log.map(({ fault }) => fault)).toEqual(['slow', 'answer', undefined]);
  });

  test.each([301, 302, 307, 308])(
    'does not follow a redirect (%i), and says what may be wrong',
    async (status) => {
      const { server, endpoint } = await serve(startHttp((_incoming, outgoing) => outgoing.end()));
      proxy.fail({ fault: { kind: 'redirect', location: `${endpoint}/there`, status, region: 'eu-west-1' } });
      const error = await failureOf(run(store));
      expect(error).toMatchObject({ failure: 'failed', status });
      expect(error.message).toContain('the region or the endpoint is wrong: the bucket is in eu-west-1');
      expect(server.connections).toBe(0);
    },
  );
});

test('a write whose answer was lost has taken effect', async () => {
  proxy.fail({ fault: { kind: 'lose' }, times: 1 });
  await failureOf(store.put('lost', Buffer.from('stored'), TEXT));
  expect((await s3.objects()).get('lost')).toEqual(Buffer.from('stored'));
});

test('a reused connection that the peer has closed is replaced by a new one, once', async () => {
  const keepAliveProxy = await startFaultProxy(s3.endpoint, { keepsConnections: true });
  opened.push({ close: () => void keepAliveProxy.stop() });
  const reusing = openStore(keepAliveProxy.endpoint);
  await reusing.get('there', 100);
  await reusing.get('there', 100);
  expect(keepAliveProxy.connections).toBe(1);
  keepAliveProxy.fail({ fault: { kind: 'drop' }, times: 1 });
  expect(await reusing.get('there', 100)).toEqual(Buffer.from('something to read'));
  expect(keepAliveProxy.log.map(({ fault }) => fault)).toEqual([undefined, undefined, 'drop', undefined]);
  expect(keepAliveProxy.connections).toBe(2);
  keepAliveProxy.fail({ fault: { kind: 'drop' }, times: 2 });
  expect(await failureOf(reusing.get('there', 100))).toMatchObject({ failure: 'unreachable' });
  expect(keepAliveProxy.log).toHaveLength(6);
  await reusing.get('there', 100);
  keepAliveProxy.fail({ fault: { kind: 'cut' }, times: 1 });
  expect(await failureOf(reusing.put('a', Buffer.from('a'), TEXT))).toMatchObject({ failure: 'unreachable' });
  expect(keepAliveProxy.log).toHaveLength(8);
});

test('a request announces its body with length, MD5 and SHA-256, so that the storage can check it', async () => {
  const seen: IncomingHttpHeaders[] = [];
  const { endpoint } = await serve(
    startHttp((incoming, outgoing) => {
      seen.push(incoming.headers);
      outgoing.end();
    }),
  );
  await openStore(endpoint).put('a', Buffer.from('what it holds'), TEXT);
  expect(seen).toEqual([
    expect.objectContaining({
      'content-length': '13',
      'content-md5': createHash('md5').update('what it holds').digest('base64'),
      'content-type': 'text/plain',
      'x-amz-content-sha256': createHash('sha256').update('what it holds').digest('hex'),
    }),
  ]);
});

test('a completion that is answered with 200 and an error has failed, and may be repeated', async () => {
  const answer = '<?xml version="1.0"?>\n<Error><Code>InternalError</Code></Error>';
  const { endpoint } = await serve(startHttp((_incoming, outgoing) => outgoing.writeHead(200).end(answer)));
  const upload = { key: 'a', uploadId: 'b' };
  const error = await failureOf(openStore(endpoint).completeUpload(upload, [{ number: 1, tag: '"c"' }]));
  expect(error).toMatchObject({ failure: 'failed', code: 'InternalError', retryable: true });
});

test.each<[string, number, Readonly<Record<string, string>>, string]>([
  ['other bytes', 206, { 'content-range': 'bytes 10-14/99' }, 'abcde'],
  ['fewer bytes than it says', 206, { 'content-range': 'bytes 3-9/99' }, 'abcde'],
  ['more bytes', 206, { 'content-range': 'bytes 3-13/99' }, 'abcdefghijk'],
  ['no range', 206, {}, 'abcde'],
  ['the whole object', 200, {}, 'abcde'],
])('a piece is rejected when the storage sends %s', async (_what, status, headers, body) => {
  const { endpoint } = await serve(
    startHttp((_incoming, outgoing) => outgoing.writeHead(status, headers).end(body)),
  );
  const error = await failureOf(openStore(endpoint).getPiece('a', 3, 10));
  expect(error).toMatchObject({ failure: 'failed', status, retryable: false });
});

test('the token of a key that expires is sent and signed', async () => {
  const seen: IncomingHttpHeaders[] = [];
  const { endpoint } = await serve(
    startHttp((incoming, outgoing) => {
      seen.push(incoming.headers);
      outgoing.end();
    }),
  );
  await openStore(endpoint, 10_000, SECRET, 'token/of=some hours').put('a', Buffer.from('a'), TEXT);
  expect(seen[0]?.['x-amz-security-token']).toBe('token/of=some hours');
  expect(seen[0]?.authorization).toMatch(/SignedHeaders=[^,]*;x-amz-security-token/);
});

test('a large body is not sent when the storage denies the request head', async () => {
  let bytes = 0;
  const { endpoint } = await serve(
    startHttp(
      (incoming) => {
        incoming.on('data', (piece: Buffer) => {
          bytes += piece.length;
        });
      },
      (incoming, outgoing) => {
        incoming.on('data', (piece: Buffer) => {
          bytes += piece.length;
        });
        outgoing.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
      },
    ),
  );
  const error = await failureOf(openStore(endpoint).put('a', Buffer.alloc(5_000_000), TEXT));
  expect(error).toMatchObject({ failure: 'denied', code: 'AccessDenied' });
  expect(bytes).toBe(0);
});

test('a large body is sent to a storage that does not answer Expect: 100-continue', async () => {
  let bytes = 0;
  const { endpoint } = await serve(
    startHttp(
      (_incoming, outgoing) => outgoing.writeHead(500).end(),
      async (incoming, outgoing) => {
        incoming.on('data', (piece: Buffer) => {
          bytes += piece.length;
        });
        await once(incoming, 'end');
        outgoing.end();
      },
    ),
  );
  await openStore(endpoint).put('a', Buffer.alloc(5_000_000), TEXT);
  expect(bytes).toBe(5_000_000);
});

const strange: [what: string, failure: BucketFailure, answer: (part: number) => string][] = [
  ['is not HTTP', 'unreachable', () => 'SSH-2.0-OpenSSH_9.2\r\n'],
  [
    'has endless headers',
    'unreachable',
    (part) => (part === 0 ? 'HTTP/1.1 200 OK\r\n' : `x-${part}: ${'y'.repeat(500)}\r\n`),
  ],
  ['repeats 100 Continue without end', 'slow', () => 'HTTP/1.1 100 Continue\r\n\r\n'],
  [
    'is an endless error',
    'denied',
    (part) => (part === 0 ? 'HTTP/1.1 403 No\r\n\r\n<Code>AccessDenied</Code>' : 'z'.repeat(4000)),
  ],
  ['is an endless object', 'failed', (part) => (part === 0 ? 'HTTP/1.1 200 OK\r\n\r\n' : 'z'.repeat(4000))],
  [
    'is another protocol',
    'unreachable',
    () => 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
  ],
  ['is empty', 'slow', () => ''],
];
test.each(strange)('an answer that %s is %s', async (_what, failure, answer) => {
  const { endpoint } = await serve(
    startSockets((socket) => {
      let part = 0;
      const timer = setInterval(() => {
        socket.write(answer(part));
        part += 1;
      }, 2);
      socket.resume().once('close', () => clearInterval(timer));
    }),
  );
  expect(
    await failureOf(openStore(endpoint, failure === 'slow' ? SHORT_MS : 10_000).get('a', 50_000)),
  ).toMatchObject({ failure });
});

test('an answer that is not a list fails the listing', async () => {
  const { endpoint } = await serve(startHttp((_incoming, outgoing) => outgoing.end('<html>Welcome</html>')));
  const error = await failureOf(openStore(endpoint).list('', 10));
  expect(error).toMatchObject({ failure: 'failed', status: 200 });
});

test('a 404 without NoSuchKey is not read as a missing object', async () => {
  const { endpoint } = await serve(
    startHttp((_incoming, outgoing) => outgoing.writeHead(404).end('<html>Not found</html>')),
  );
  expect(await failureOf(openStore(endpoint).get('a', 10))).toMatchObject({ failure: 'failed', status: 404 });
  expect(await failureOf(openStore(endpoint).remove('a'))).toMatchObject({ failure: 'failed', status: 404 });
});

test('closing fails the requests in flight', async () => {
  proxy.fail({ fault: { kind: 'hang' } });
  const reading = failureOf(store.get('there', 100));
  await expect.poll(() => proxy.log.length).toBe(1);
  store.close();
  expect(await reading).toMatchObject({ failure: 'unreachable' });
});

test('the secret appears in no error, no log line and no inspection of the store', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const shown: string[] = [];
  const faults: Fault[] = [
    { kind: 'answer', status: 403, code: 'AccessDenied' },
    { kind: 'redirect', location: 'http://127.0.0.1:1/' },
    { kind: 'drop' },
    { kind: 'cut' },
    { kind: 'hang' },
  ];
  const secretive = openStore(proxy.endpoint, SHORT_MS, SECRET);
  const errors = [
    await failureOf(secretive.get('a', 10)), // The server does not know this secret.
    await failureOf(openStore('http://127.0.0.1:1', SHORT_MS, SECRET).get('a', 10)),
    await failureOf(
      openStore(`http://x:${encodeURIComponent(SECRET)}@127.0.0.1`, SHORT_MS, SECRET).get('a', 10),
    ),
  ];
  for (const fault of faults) {
    proxy.fail({ fault, times: 1 });
    errors.push(await failureOf(secretive.put('a', Buffer.from('a'), TEXT)));
  }
  for (const error of errors) {
    shown.push(error.message, error.stack ?? '', inspect(error, { depth: 20, showHidden: true }));
    log.error({ err: error }, 'failed');
  }
  shown.push(inspect(secretive, { depth: 20, showHidden: true }), JSON.stringify(secretive));
  log.info({ secretive }, 'shown');
  expect(lines).toHaveLength(errors.length + 1);
  const everything = [...shown, ...lines].join('\n');
  expect(everything).toContain('SignatureDoesNotMatch');
  for (const spelling of [SECRET, encodeURIComponent(SECRET), JSON.stringify(SECRET)]) {
    expect(everything).not.toContain(spelling);
  }
});
