import type { LookupAddress } from 'node:dns';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { isPublicAddress } from '../network/public-address.ts';
import { type LoopbackServer, startHttp } from '../testing/loopback.ts';
import type { Resolve } from './guarded-lookup.ts';
import { BucketError, ObjectStore } from './object-store.ts';

const TEXT = { contentType: 'text/plain' };
const LOOPBACK: LookupAddress = { address: '127.0.0.1', family: 4 };
const PUBLIC: LookupAddress = { address: '1.1.1.1', family: 4 };

let inside: LoopbackServer;
const opened: ObjectStore[] = [];

beforeAll(async () => {
  inside = await startHttp((_incoming, outgoing) => outgoing.end('a secret of the house'));
});
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});
afterAll(() => inside.stop());

function openStore(host: string, options: { resolve?: Resolve; mayConnect?: (address: string) => boolean }) {
  const each = new ObjectStore({
    access: {
      endpoint: `http://${host}:${inside.port}`,
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

const REFUSED = Array.from({ length: 4 }, () => 'address-refused');

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
])('%s is refused without a connection', async (host) => {
  expect(await failuresOf(openStore(host, {}))).toEqual(REFUSED);
  expect(inside.connections).toBe(0);
});

test.each<[what: string, found: LookupAddress[]]>([
  ['only inside', [LOOPBACK]],
  ['outside, then inside', [PUBLIC, LOOPBACK]],
  ['inside, then outside', [LOOPBACK, PUBLIC]],
  ['inside by IPv6', [PUBLIC, { address: '::1', family: 6 }]],
  ['inside by a mapped address', [{ address: '::ffff:127.0.0.1', family: 6 }]],
  ['the machine’s metadata', [{ address: '169.254.169.254', family: 4 }]],
  ['nowhere', []],
])('a name whose addresses are %s is refused without a connection', async (_what, found) => {
  const store = openStore('storage.example.com', { resolve: (_name, _options, done) => done(null, found) });
  expect(await failuresOf(store)).toEqual(REFUSED);
  expect(inside.connections).toBe(0);
});

test('a name that ends in a dot is judged by its addresses as well', async () => {
  const asked: string[] = [];
  const resolve: Resolve = (name, _options, done) => {
    asked.push(name);
    done(null, [LOOPBACK]);
  };
  expect(await failuresOf(openStore('localhost.', { resolve }))).toEqual(REFUSED);
  expect(asked).toEqual(Array.from({ length: 4 }, () => 'localhost.'));
  expect(inside.connections).toBe(0);
});

test('a connection goes to the very address that was judged, whatever the name means by then', async () => {
  const answers = [LOOPBACK, { address: '127.0.0.2', family: 4 }];
  const judged: string[] = [];
  const store = openStore('moving.example.com', {
    resolve: (_name, _options, done) => done(null, answers.splice(0, 1)),
    mayConnect: (address) => {
      judged.push(address);
      return address === '127.0.0.1';
    },
  });
  const before = inside.connections;
  expect(await store.get('a', 100)).toEqual(Buffer.from('a secret of the house'));
  expect(judged).toEqual(['127.0.0.1']);
  expect(answers).toHaveLength(1);
  expect(inside.connections).toBe(before + 1);
});

test('a name that nobody knows is unreachable', async () => {
  const resolve: Resolve = (_name, _options, done) =>
    done(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), []);
  expect(await failuresOf(openStore('nobody.example.com', { resolve }))).toEqual(
    Array.from({ length: 4 }, () => 'unreachable'),
  );
});
