import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { must } from '../assert.ts';
import { failureOf } from '../testing/bucket-failure.ts';
import { S3_KEY, S3_REGION, type S3Server, startS3, VIRTUAL_HOST } from '../testing/s3-server.ts';
import type { Resolve } from './guarded-lookup.ts';
import { type BucketAccess, type BucketError, ObjectStore } from './object-store.ts';

const TEXT = { contentType: 'text/plain' };
const PORT = /\d+$/;
const toLoopback: Resolve = (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]);

let s3: S3Server;
let store: ObjectStore;
const opened: ObjectStore[] = [];

beforeAll(async () => {
  s3 = await startS3({ buckets: ['events', 'many'] });
  store = openStore();
});

afterAll(async () => {
  for (const each of opened) each.close();
  await s3.stop();
});

function openStore(changes: Partial<BucketAccess> = {}): ObjectStore {
  const access = { endpoint: s3.endpoint, region: S3_REGION, bucket: 'events', pathStyle: true, ...S3_KEY };
  const each = new ObjectStore({
    access: { ...access, ...changes },
    mayConnect: (address) => address === '127.0.0.1',
    timeoutMs: 20_000,
    resolve: toLoopback,
  });
  opened.push(each);
  return each;
}

test.each([
  'plain.txt',
  'events/site=shop/date=2026-03-01/hour=07/0d9f-000000001-0-abcdef.parquet',
  'two words/and  more',
  'a+b=c&d?e#f;g,h:i@j$k',
  '100%/%2F/%',
  '☂/über/日本/😀',
  `quotes'"\``,
  '(all)*!~[]{}|^<&>',
  'back\\slash',
  'line\nbreak\ttab',
  '\u0001control',
  '.hidden/...',
  ' spaces at the ends ',
])('the object %j is written, read, listed and removed', async (key) => {
  const bytes = Buffer.from(`what ${key} holds`);
  await store.put(key, bytes, TEXT);
  expect((await s3.objects()).get(key)).toEqual(bytes);
  expect(await store.get(key, 1000)).toEqual(bytes);
  expect(await store.list(key, 10)).toEqual([key]);
  await store.remove(key);
  expect((await s3.objects()).has(key)).toBe(false);
  expect(await store.get(key, 1000)).toBeUndefined();
  expect(await store.list(key, 10)).toEqual([]);
});

test.each([0, 1, 262_144, 1_048_577, 20_000_000])(
  'an object of %i bytes comes back as it was',
  async (size) => {
    const bytes = randomBytes(size);
    await store.put(`sizes/${size}`, bytes, { contentType: 'application/octet-stream' });
    expect(Buffer.compare((await s3.objects()).get(`sizes/${size}`) ?? Buffer.of(0), bytes)).toBe(0);
    expect(Buffer.compare((await store.get(`sizes/${size}`, size)) ?? Buffer.of(0), bytes)).toBe(0);
  },
);

test('writing an object again replaces it', async () => {
  await store.put('twice', Buffer.from('first and longer'), TEXT);
  await store.put('twice', Buffer.from('second'), TEXT);
  expect(await store.get('twice', 100)).toEqual(Buffer.from('second'));
});

test('removing an object that does not exist does nothing', async () => {
  await expect(store.remove('never/written')).resolves.toBeUndefined();
});

test('an object larger than the limit is not read', async () => {
  await store.put('large', randomBytes(300_000), TEXT);
  expect(await failureOf(store.get('large', 299_999))).toMatchObject({ failure: 'failed', status: 200 });
  expect(await store.get('large', 300_000)).toHaveLength(300_000);
});

test('a list spans as many pages as needed, in order, and stops at its maximum', async () => {
  const names = Array.from({ length: 2300 }, (_, index) => `p/${String(index).padStart(5, '0')} ☂&`);
  mkdirSync(join(s3.folder, 'many/p'), { recursive: true });
  for (const name of names) writeFileSync(join(s3.folder, 'many', `${name}._S3rver_object`), '');
  const many = openStore({ bucket: 'many' });
  expect(await many.list('p/', 10_000)).toEqual(names);
  expect(await many.list('', 2300)).toEqual(names);
  expect(await many.list('p/', 1000)).toEqual(names.slice(0, 1000));
  expect(await many.list('p/', 1001)).toEqual(names.slice(0, 1001));
  expect(await many.list('p/000', 2000)).toEqual(names.slice(0, 100));
  expect(await many.list('p/', 0)).toEqual([]);
  expect(await many.list('q', 10)).toEqual([]);
});

test('a list has the sizes of the objects', async () => {
  await store.put('of size/a', Buffer.alloc(7), TEXT);
  await store.put('of size/b', Buffer.alloc(0), TEXT);
  expect(await store.listObjects('of size/', 10)).toEqual([
    { key: 'of size/a', bytes: 7 },
    { key: 'of size/b', bytes: 0 },
  ]);
});

test('pieces of an object are read from any byte on, and say how large it is', async () => {
  const bytes = randomBytes(1000);
  await store.put('pieces', bytes, TEXT);
  const piece = async (from: number, max: number) => {
    const { bytes: got, objectBytes } = must(await store.getPiece('pieces', from, max), 'it exists');
    expect(objectBytes).toBe(1000);
    return Buffer.from(got);
  };
  expect(await piece(0, 400)).toEqual(bytes.subarray(0, 400));
  expect(await piece(400, 400)).toEqual(bytes.subarray(400, 800));
  expect(await piece(800, 400)).toEqual(bytes.subarray(800));
  expect(await piece(999, 1)).toEqual(bytes.subarray(999));
  expect(await piece(0, 5000)).toEqual(bytes);
  expect(await store.getPiece('no pieces', 0, 10)).toBeUndefined();
  expect(await failureOf(store.getPiece('pieces', 1000, 10))).toMatchObject({ code: 'InvalidRange' });
});

describe('an upload in parts', () => {
  const key = 'parts/a+b ☂.bin';
  const bytes = randomBytes(5_000_000);

  test('is an object once it is completed, and nothing before', async () => {
    const upload = await store.beginUpload(key, TEXT);
    const second = await store.putPart(upload, 2, bytes.subarray(3_000_000));
    const lost = await store.putPart(upload, 1, bytes.subarray(0, 10));
    const first = await store.putPart(upload, 1, bytes.subarray(0, 3_000_000));
    expect(lost.tag).not.toBe(first.tag);
    expect(await store.get(key, 10)).toBeUndefined();
    expect(await store.list('parts/', 10)).toEqual([]);
    expect(await store.openUploads('parts/')).toEqual([upload]);
    await store.completeUpload(upload, [first, second]);
    expect(Buffer.compare((await store.get(key, 5_000_000)) ?? Buffer.of(0), bytes)).toBe(0);
    expect(await store.openUploads('')).toEqual([]);
    expect(await failureOf(store.completeUpload(upload, [first, second]))).toMatchObject({
      code: 'NoSuchUpload',
      retryable: false,
    });
    await store.remove(key);
  });

  test('that is removed leaves nothing, and cannot go on', async () => {
    const upload = await store.beginUpload(key, TEXT);
    const part = await store.putPart(upload, 1, bytes);
    expect(await store.openUploads('other/')).toEqual([]);
    await store.abortUpload(upload);
    await store.abortUpload(upload);
    expect(await s3.openUploads()).toEqual([]);
    expect(await failureOf(store.putPart(upload, 2, bytes))).toMatchObject({ code: 'NoSuchUpload' });
    expect(await failureOf(store.completeUpload(upload, [part]))).toMatchObject({ code: 'NoSuchUpload' });
    expect(await store.get(key, 10)).toBeUndefined();
  });
});

test('a bucket is reached by its own host name too', async () => {
  const endpoint = `http://${VIRTUAL_HOST}:${PORT.exec(s3.endpoint)?.[0]}`;
  const virtual = openStore({ endpoint, pathStyle: false });
  await virtual.put('virtual host/a+b', Buffer.from('here'), TEXT);
  expect(await store.get('virtual host/a+b', 10)).toEqual(Buffer.from('here'));
  expect(await virtual.get('virtual host/a+b', 10)).toEqual(Buffer.from('here'));
  expect(await virtual.get('virtual host/b', 10)).toBeUndefined();
  await virtual.remove('virtual host/a+b');
  expect(await store.list('virtual host/', 10)).toEqual([]);
});

test('concurrent requests do not affect each other', async () => {
  const keys = Array.from({ length: 40 }, (_, index) => `at once/${index}`);
  await Promise.all(keys.map((key) => store.put(key, Buffer.from(key), TEXT)));
  const read = await Promise.all(keys.map((key) => store.get(key, 100)));
  expect(read.map((bytes) => Buffer.from(bytes ?? []).toString())).toEqual(keys);
  expect((await store.list('at once/', 100)).toSorted()).toEqual(keys.toSorted());
});

const wrong: [what: string, changes: Partial<BucketAccess>, failure: Partial<BucketError>][] = [
  [
    'an unknown key',
    { accessKeyId: 'AKIDUNKNOWN' },
    { failure: 'denied', code: 'InvalidAccessKeyId', status: 403 },
  ],
  [
    'a wrong secret',
    { secretAccessKey: 'guess' },
    { failure: 'denied', code: 'SignatureDoesNotMatch', status: 403 },
  ],
  ['a key id that no header holds', { accessKeyId: '☂\n' }, { failure: 'denied', status: undefined }],
  ['a missing bucket', { bucket: 'nowhere' }, { failure: 'no-bucket', code: 'NoSuchBucket', status: 404 }],
  [
    'an endpoint with a path',
    { endpoint: 'http://127.0.0.1:9/base' },
    { failure: 'failed', status: undefined },
  ],
  [
    'a port without a listener',
    { endpoint: 'http://127.0.0.1:1' },
    { failure: 'unreachable', code: 'ECONNREFUSED' },
  ],
];
test.each(wrong)('%s fails every request in the same way', async (_what, changes, failure) => {
  const bad = openStore(changes);
  const keys = [...(await s3.objects()).keys()];
  const errors = [
    await failureOf(bad.put('a', Buffer.from('a'), TEXT)),
    await failureOf(bad.put('large', Buffer.alloc(2_000_000), TEXT)),
    await failureOf(bad.get('a', 10)),
    await failureOf(bad.remove('large')),
    await failureOf(bad.list('', 10)),
  ];
  for (const error of errors) expect(error).toMatchObject(failure);
  expect([...(await s3.objects()).keys()].toSorted()).toEqual(keys.toSorted());
});

test('a server without TLS is unreachable over https', async () => {
  const endpoint = s3.endpoint.replace('http:', 'https:');
  expect(await failureOf(openStore({ endpoint }).get('a', 10))).toMatchObject({ failure: 'unreachable' });
});
