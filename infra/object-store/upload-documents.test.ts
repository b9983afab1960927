import { expect, test } from 'vitest';
import { completionOf, isCompleted, readUploadId, readUploads } from './upload-documents.ts';

const started = (id: string) =>
  `<?xml version="1.0"?><InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key>${id}</InitiateMultipartUploadResult>`;
const page = (inner: string) =>
  `<ListMultipartUploadsResult><Bucket>b</Bucket>${inner}</ListMultipartUploadsResult>`;

test('an upload has the id of the answer', () => {
  expect(readUploadId(started('<UploadId>a&amp;b</UploadId>'))).toBe('a&b');
  expect(readUploadId(started('<UploadId></UploadId>'))).toBeUndefined();
  expect(readUploadId(started(''))).toBeUndefined();
  expect(readUploadId('<Error><UploadId>a</UploadId></Error>')).toBeUndefined();
});

test('tags are named as they came', () => {
  const parts = [
    { number: 1, tag: '"0a"' },
    { number: 2, tag: '"<&>"' },
  ];
  expect(completionOf(parts)).toBe(
    '<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>"0a"</ETag></Part>' +
      '<Part><PartNumber>2</PartNumber><ETag>"&lt;&amp;&gt;"</ETag></Part></CompleteMultipartUpload>',
  );
});

test('an answer with an error does not complete an upload', () => {
  expect(
    isCompleted(
      '<CompleteMultipartUploadResult xmlns="a"><ETag>"a-2"</ETag></CompleteMultipartUploadResult>',
    ),
  ).toBe(true);
  expect(isCompleted('<?xml version="1.0"?>\n\n<Error><Code>InternalError</Code></Error>')).toBe(false);
});

test('uploads are listed with key and id', () => {
  const upload = (key: string, id: string) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`;
  expect(readUploads(page(''))).toEqual([]);
  expect(readUploads(page(upload('a&amp;b', '1') + upload('c', '2')))).toEqual([
    { key: 'a&b', uploadId: '1' },
    { key: 'c', uploadId: '2' },
  ]);
  expect(readUploads(page(`<EncodingType>url</EncodingType>${upload('a%2Bb+c', '1')}`))).toEqual([
    { key: 'a+b c', uploadId: '1' },
  ]);
  for (const broken of [
    '<Error></Error>',
    page('<Upload><Key>a</Key></Upload>'),
    page('<Upload><Key>a</Key>'),
  ])
    expect(readUploads(broken)).toBeUndefined();
});
