import { createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** A request as received. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/,]+)\/(\d{8})\/([^/,]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;

/**
 * Checks the signature and the digests of a request as S3 does (AWS Signature Version 4, in the header). Written from
 * the specification, without code shared with the signer. Returns the error code, or undefined for a valid request.
 */
export function signatureProblem(
  request: ReceivedRequest,
  secretOf: (accessKeyId: string) => string | undefined,
): string | undefined {
  const { method, url, headers, body } = request;
  const given = AUTHORIZATION.exec(headers.authorization ?? '');
  if (given === null) return 'AccessDenied';
  const [, accessKeyId = '', day = '', region = '', signedNames = '', signature = ''] = given;
  const secret = secretOf(accessKeyId);
  if (secret === undefined) return 'InvalidAccessKeyId';
  const names = signedNames.split(';');
  const mustBeSigned = Object.keys(headers).filter((name) => name === 'host' || name.startsWith('x-amz-'));
  if (!mustBeSigned.every((name) => names.includes(name))) return 'AccessDenied';
  const payload = String(headers['x-amz-content-sha256']);
  const [path = '', query = ''] = url.split('?');
  const canonical = [
    method,
    path.split('/').map(reencoded).join('/'),
    canonicalQuery(query),
    ...names.map(
      (name) =>
        `${name}:${String(headers[name] ?? '')
          .trim()
          .replace(/ +/g, ' ')}`,
    ),
    '',
    signedNames,
    payload,
  ].join('\n');
  const moment = String(headers['x-amz-date']);
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', moment, scope, hash('sha256', canonical).toString('hex')].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret}`);
  if (!moment.startsWith(day) || hmac(key, toSign).toString('hex') !== signature)
    return 'SignatureDoesNotMatch';
  if (payload !== hash('sha256', body).toString('hex')) return 'XAmzContentSHA256Mismatch';
  const md5 = headers['content-md5'];
  return md5 === undefined || md5 === hash('md5', body).toString('base64') ? undefined : 'BadDigest';
}

function canonicalQuery(query: string): string {
  return query
    .split('&')
    .filter((parameter) => parameter !== '')
    .map((parameter) => {
      const [name = '', value = ''] = parameter.split('=').map(reencoded);
      return `${name}=${value}`;
    })
    .sort()
    .join('&');
}

function reencoded(text: string): string {
  return encodeURIComponent(decodeURIComponent(text)).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function hash(algorithm: 'sha256' | 'md5', bytes: string | Buffer): Buffer {
  return createHash(algorithm).update(bytes).digest();
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest();
}
