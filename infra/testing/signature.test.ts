import { expect, test } from 'vitest';
import { signatureProblem } from './signature.ts';

// The examples, with their key, from Amazon's documentation of the signature.
const KEY = 'AKIAIOSFODNN7EXAMPLE';
const SECRET = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const WELCOME = '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072';
const USUAL = 'host;x-amz-content-sha256;x-amz-date';

const examples: [
  url: string,
  signature: string,
  signedNames: string,
  more: Record<string, string>,
  body: string,
][] = [
  [
    '/test.txt',
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    'host;range;x-amz-content-sha256;x-amz-date',
    { range: 'bytes=0-9' },
    '',
  ],
  [
    '/test%24file.text',
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
    {
      date: 'Fri, 24 May 2013 00:00:00 GMT',
      'x-amz-storage-class': 'REDUCED_REDUNDANCY',
      'x-amz-content-sha256': WELCOME,
    },
    'Welcome to Amazon S3.',
  ],
  ['/?lifecycle', 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543', USUAL, {}, ''],
  [
    '/?max-keys=2&prefix=J',
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    USUAL,
    {},
    '',
  ],
];

test.each(examples)('the documented signature of %s is right', (url, signature, signedNames, more, body) => {
  expect(problemOf({ url, signature, signedNames, more, body })).toBeUndefined();
});

test.each(examples)('any other signature of %s is wrong', (url, signature, signedNames, more, body) => {
  const example = { url, signature, signedNames, more, body };
  expect(
    problemOf({ ...example, signature: signature.replace(/.$/, (last) => (last === '0' ? '1' : '0')) }),
  ).toBe('SignatureDoesNotMatch');
  expect(problemOf({ ...example, url: url.replace('t', 'u') })).toBe(
    url.includes('t') ? 'SignatureDoesNotMatch' : undefined,
  );
  expect(problemOf({ ...example, more: { ...more, 'x-amz-other': 'a' } })).toBe('AccessDenied');
  expect(problemOf({ ...example, body: `${body}!` })).toBe('XAmzContentSHA256Mismatch');
  expect(problemOf(example, { other: SECRET })).toBe('InvalidAccessKeyId');
  expect(problemOf(example, { [KEY]: `${SECRET}a` })).toBe('SignatureDoesNotMatch');
});

test('a wrong MD5 of the body is detected', () => {
  const [url, signature, signedNames, more, body] = examples[1] ?? ['', '', '', {}, ''];
  const md5 = 'R+4LL+iXXQX+HD2YnZaRYA==';
  const example = { url, signature, signedNames, body, more: { ...more, 'content-md5': md5 } };
  expect(problemOf(example)).toBe('BadDigest');
});

function problemOf(
  example: {
    readonly url: string;
    readonly signature: string;
    readonly signedNames: string;
    readonly more: Readonly<Record<string, string>>;
    readonly body: string;
  },
  secrets: Readonly<Record<string, string>> = { [KEY]: SECRET },
): string | undefined {
  const { url, signature, signedNames, more, body } = example;
  const headers = {
    host: 'examplebucket.s3.amazonaws.com',
    'x-amz-date': '20130524T000000Z',
    'x-amz-content-sha256': EMPTY,
    authorization: `AWS4-HMAC-SHA256 Credential=${KEY}/20130524/us-east-1/s3/aws4_request,SignedHeaders=${signedNames},Signature=${signature}`,
    ...more,
  };
  const method = body.startsWith('Welcome') ? 'PUT' : 'GET';
  return signatureProblem({ method, url, headers, body: Buffer.from(body) }, (id) => secrets[id]);
}
