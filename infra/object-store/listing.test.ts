import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readListing } from './listing.ts';

const page = (inner: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${inner}</ListBucketResult>`;
const object = (key: string) =>
  `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;a&quot;</ETag><Size>1</Size><Owner><ID>Key</ID></Owner></Contents>`;

const listed = (...keys: string[]) => keys.map((key) => ({ key, bytes: 1 }));
const keysOf = (xml: string) => readListing(xml, 1)?.objects.map(({ key }) => key);

test('the objects of a page have their keys and sizes, in order', () => {
  const xml = page(
    `<Name>b</Name><Prefix><Key>no</Key></Prefix><KeyCount>2</KeyCount>${object('b')}\n${object('a')}`,
  );
  expect(readListing(xml, 10)).toEqual({ objects: listed('b', 'a'), next: undefined });
  expect(readListing(page(''), 10)).toEqual({ objects: [], next: undefined });
});

test('a page that is not the last one carries the continuation token of the next', () => {
  const truncated = `<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b+/=</NextContinuationToken>`;
  expect(readListing(page(truncated + object('a')), 10)).toEqual({ objects: listed('a'), next: 'a&b+/=' });
  const last = `<IsTruncated>false</IsTruncated><NextContinuationToken>a</NextContinuationToken>`;
  expect(readListing(page(last + object('a')), 10)).toEqual({ objects: listed('a'), next: undefined });
});

test('a size that is missing or no number is unknown', () => {
  for (const size of ['', '<Size>-1</Size>', '<Size>1e3</Size>', '<Size>many</Size>'])
    expect(readListing(page(`<Contents><Key>a</Key>${size}</Contents>`), 1)?.objects).toEqual([
      { key: 'a', bytes: undefined },
    ]);
});

test('a key is read back, XML-escaped or URL-encoded', () => {
  const keys = fc.string({ unit: 'grapheme', minLength: 1 });
  fc.assert(
    fc.property(keys, (key) => {
      const asXml = key.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&#62;');
      const asAddress = encodeURIComponent(key).replaceAll('%20', '+');
      expect(keysOf(page(object(asXml)))).toEqual([key]);
      const encoded = page(`<EncodingType>url</EncodingType>${object(asAddress)}`);
      expect(keysOf(encoded)).toEqual([key]);
    }),
  );
});

test.each([
  ['text without XML', 'hello'],
  ['another document', '<Error><Code>A</Code></Error>'],
  ['an object without a key', page('<Contents><Size>1</Size></Contents>')],
  ['an object without an end', page('<Contents><Key>a</Key>')],
  ['a key that is not valid URL encoding', page(`<EncodingType>url</EncodingType>${object('100%')}`)],
  ['more keys than requested', page(object('a') + object('b') + object('c'))],
  ['a truncated page without a continuation token', page(`<IsTruncated>true</IsTruncated>${object('a')}`)],
  [
    'a truncated page without keys',
    page('<IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken>'),
  ],
])('%s is rejected as a page', (_what, xml) => {
  expect(readListing(xml, 2)).toBeUndefined();
});

test.each([['&constructor;'], ['&#x110000;'], ['&nothing;'], ['a & b'], ['&;']])(
  'an unknown entity such as %j is left as it is',
  (key) => {
    expect(keysOf(page(object(key)))).toEqual([key]);
  },
);

test('a megabyte of unclosed elements is rejected in linear time', () => {
  expect(readListing(page('<Contents>'.repeat(100_000)), 1000)).toBeUndefined();
  expect(readListing(page('<Contents><Key>'.repeat(70_000)), 1000)).toBeUndefined();
});
