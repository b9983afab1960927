import type { LookupAddress } from 'node:dns';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { isPublicAddress } from '../network/public-address.ts';
import { type LoopbackServer, startHttp } from '../testing/loopback.ts';
import type { Resolve } from './guarded-lookup.ts';
import { BucketError, ObjectStore } from './object-store.ts';

const TEXT = { contentType: 'text/plain' };
const LOOPBACK: LookupAddress = { address: '127.0.0.1', family: 4 };
const PUBLIC: LookupAddress = { address: '1.1.1.1', family: 4 };

let internal: LoopbackServer;
const opened: ObjectStore[] = [];

beforeAll(async () => {
  internal = await startHttp((_incoming, outgoing) => outgoing.end('an internal secret'));
});
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});
afterAll(() => internal.stop());

function openStore(host: string, options: { resolve?: Resolve; mayConnect?: (address: string) => boolean }) {
  const each = new ObjectStore({
    access: {
      endpoint: `http://${host}:${internal.port}`,
      region: 'us-east-1',
      bucket: 'events',
      pathStyle: true,
      accessKeyId: 'key',
      secretAccessKey: 'secret',
    },
    mayConnect: isPublicAddress,
    timeoutMs: 5000,
    ...options,
  });
  opened.push(each);
  return each;
}

async function failuresOf(store: ObjectStore): Promise<unknown[]> {
  const all = await Promise.allSettled([
    store.put('a', Buffer.from('a'), TEXT),
    store.get('a', 100),
    store.remove('a'),
    store.list('', 10),
  ]);
  return all.map((one) =>
    one.status === 'rejected' && one.reason instanceof BucketError ? one.reason.failure : one,
  );
}

const REJECTED = Array.from({ length: 4 }, () => 'address-refused');

test.each([
  'localhost',
  '127.0.0.1',
  '127.0.0.1.',
  '127.1',
  '0x7f.1',
  '0x7f000001',
  '0177.0.0.1',
  '2130706433',
  '①②⑦.0.0.1',
  '%31%32%37.0.0.1',
  '0.0.0.0',
  '0',
  '169.254.169.254',
  '10.0.0.1',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[fd00:ec2::254]',
])('%s is rejected without a connection', async (host) => {
  expect(await failuresOf(openStore(host, {}))).toEqual(REJECTED);
  expect(internal.connections).toBe(0);
});

test.each<[what: string, found: LookupAddress[]]>([
  ['only internal', [LOOPBACK]],
  ['public, then internal', [PUBLIC, LOOPBACK]],
  ['internal, then public', [LOOPBACK, PUBLIC]],
  ['internal by IPv6', [PUBLIC, { address: '::1', family: 6 }]],
  ['internal by an IPv4-mapped address', [{ address: '::ffff:127.0.0.1', family: 6 }]],
  ['the cloud metadata address', [{ address: '169.254.169.254', family: 4 }]],
  ['empty', []],
])('a name whose addresses are %s is rejected without a connection', async (_what, found) => {
  const store = openStore('storage.example.com', { resolve: (_name, _options, done) => done(null, found) });
  expect(await failuresOf(store)).toEqual(REJECTED);
  expect(internal.connections).toBe(0);
});

test.each([
  ['127.0.0.1', LOOPBACK],
  ['storage.example.com', LOOPBACK],
])('the error of %s names the host and the setting that allows its address', async (host, found) => {
  const store = openStore(host, { resolve: (_name, _options, done) => done(null, [found]) });
  const failed = store.get('a', 100);
  await expect(failed).rejects.toThrow(host);
  await expect(failed).rejects.toThrow('ENDPOINTS_ALLOWED');
});

test('a name that ends in a dot is judged by its addresses too', async () => {
  const resolved: string[] = [];
  const resolve: Resolve = (name, _options, done) => {
    resolved.push(name);
    done(null, [LOOPBACK]);
  };
  expect(await failuresOf(openStore('localhost.', { resolve }))).toEqual(REJECTED);
  expect(resolved).toEqual(Array.from({ length: 4 }, () => 'localhost.'));
  expect(internal.connections).toBe(0);
});

test('a connection goes to the address that was judged, even if the name has changed since', async () => {
  const answers = [LOOPBACK, { address: '127.0.0.2', family: 4 }];
  const judged: string[] = [];
  const store = openStore('moving.example.com', {
    resolve: (_name, _options, done) => done(null, answers.splice(0, 1)),
    mayConnect: (address) => {
      judged.push(address);
      return address === '127.0.0.1';
    },
  });
  const before = internal.connections;
  expect(await store.get('a', 100)).toEqual(Buffer.from('an internal secret'));
  expect(judged).toEqual(['127.0.0.1']);
  expect(answers).toHaveLength(1);
  expect(internal.connections).toBe(before + 1);
});

test('a name that does not resolve is unreachable', async () => {
  const resolve: Resolve = (_name, _options, done) =>
    done(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), []);
  expect(await failuresOf(openStore('unknown.example.com', { resolve }))).toEqual(
    Array.from({ length: 4 }, () => 'unreachable'),
  );
});
