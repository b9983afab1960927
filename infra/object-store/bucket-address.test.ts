import { expect, test } from 'vitest';
import { bucketAddress, objectPath } from './bucket-address.ts';
import { BucketError } from './bucket-error.ts';

const NAMES = { endpoint: null, region: 'eu-west-1', bucket: 'events', pathStyle: false };

test.each([
  [{}, 'https://events.s3.eu-west-1.amazonaws.com:443'],
  [{ pathStyle: true }, 'https://s3.eu-west-1.amazonaws.com:443/events'],
  [{ region: 'cn-north-1' }, 'https://events.s3.cn-north-1.amazonaws.com.cn:443'],
  // No certificate covers a host with a dotted bucket name.
  [{ bucket: 'my.events' }, 'https://s3.eu-west-1.amazonaws.com:443/my.events'],
  [{ bucket: 'my.events', endpoint: 'http://s3.test' }, 'http://my.events.s3.test:80'],
  [{ endpoint: 'https://fsn1.example.com' }, 'https://events.fsn1.example.com:443'],
  [{ endpoint: 'https://example.com:443/', pathStyle: true }, 'https://example.com:443/events'],
  [{ endpoint: 'http://Example.COM:9000', pathStyle: true }, 'http://example.com:9000/events'],
  [{ endpoint: 'http://[2001:DB8::1]:9000', pathStyle: true }, 'http://2001:db8::1:9000/events'],
  [{ endpoint: 'http://0x7f.1:9000', pathStyle: true }, 'http://127.0.0.1:9000/events'],
  [{ bucket: 'Old_Bucket', pathStyle: true }, 'https://s3.eu-west-1.amazonaws.com:443/Old_Bucket'],
])('%j is %s', (changes, expected) => {
  const { protocol, hostname, port, path } = bucketAddress({ ...NAMES, ...changes });
  expect(`${protocol}//${hostname}:${port}${path}`).toBe(expected);
});

test.each([
  ['https://example.com:443', 'example.com'],
  ['https://example.com:8443', 'example.com:8443'],
  ['http://[::1]:80', '[::1]'],
  ['http://[::1]:81', '[::1]:81'],
])('the header Host of %s is %s', (endpoint, host) => {
  expect(bucketAddress({ ...NAMES, endpoint, pathStyle: true }).host).toBe(host);
});

test.each([
  [{ endpoint: '' }, 'not a URL'],
  [{ endpoint: 'example.com' }, 'not a URL'],
  [{ endpoint: 'ftp://example.com' }, 'http:// or https://'],
  [{ endpoint: 'file:///etc/passwd' }, 'http:// or https://'],
  [{ endpoint: 'https://example.com/base' }, 'more than a host and a port'],
  [{ endpoint: 'https://example.com/?a=b' }, 'more than a host and a port'],
  [{ endpoint: 'https://example.com/#a' }, 'more than a host and a port'],
  [{ endpoint: 'https://me:hush-hush@example.com' }, 'more than a host and a port'],
  [{ endpoint: 'https://example.com:99999' }, 'not a URL'],
  [{ endpoint: 'http://127.0.0.1:9000' }, 'needs the path style'],
  [{ endpoint: 'http://[::1]:9000' }, 'needs the path style'],
  [{ region: 'evil.example/' }, 'the region'],
  [{ region: '' }, 'the region'],
  [{ bucket: '..', pathStyle: true }, 'the bucket'],
  [{ bucket: 'a/b', pathStyle: true }, 'the bucket'],
  [{ bucket: 'a@b' }, 'the bucket'],
  [{ bucket: '' }, 'the bucket'],
  [{ bucket: 'Old_Bucket' }, 'needs the path style'],
])('%j is rejected: %s', (changes, words) => {
  const find = () => bucketAddress({ ...NAMES, ...changes });
  expect(find).toThrow(BucketError);
  expect(find).toThrow(words);
  expect(find).not.toThrow('hush-hush');
});

test.each([
  ['a/b.parquet', '/events/a/b.parquet'],
  ['a b+c%d', '/events/a%20b%2Bc%25d'],
  ["!'()*", '/events/%21%27%28%29%2A'],
  ['date=2026-01-01/☂', '/events/date%3D2026-01-01/%E2%98%82'],
  ['/a//b/', '/events//a//b/'],
  ['-_.~', '/events/-_.~'],
])('the path of %j is %s', (key, path) => {
  expect(objectPath(bucketAddress({ ...NAMES, pathStyle: true }), key)).toBe(path);
});

test.each(['', '.', '..', 'a/../b', './a', 'a/.', '\ud800'])('the key %j fails an assertion', (key) => {
  expect(() => objectPath(bucketAddress(NAMES), key)).toThrow('key');
});
