import { BucketError, type BucketFailure } from './bucket-error.ts';
import type { BucketAnswer } from './exchange.ts';
import { textOf } from './listing.ts';

// Error codes that say more than the HTTP status: Amazon's, then other storages'.
const FAILURES_BY_CODE: ReadonlyMap<string, BucketFailure> = new Map([
  ['AccessDenied', 'denied'],
  ['ExpiredToken', 'denied'],
  ['InvalidAccessKeyId', 'denied'],
  ['InvalidToken', 'denied'],
  ['SignatureDoesNotMatch', 'denied'],
  ['NoSuchBucket', 'no-bucket'],
  ['EntityTooLarge', 'full'],
  ['QuotaExceeded', 'full'],
  ['InsufficientStorage', 'full'],
  ['XMinioAdminBucketQuotaExceeded', 'full'],
  ['XMinioStorageFull', 'full'],
  ['RequestTimeout', 'slow'],
  ['SlowDown', 'slow'],
]);
const FAILURES_BY_STATUS: ReadonlyMap<number, BucketFailure> = new Map([
  [401, 'denied'],
  [403, 'denied'],
  [413, 'full'],
  [429, 'slow'],
  [503, 'slow'],
  [504, 'slow'],
  [507, 'full'],
]);

const CODE = /^[\w.-]{1,64}$/;
const REGION = /^[a-z0-9-]{1,32}$/;

/** The service's own error code, if the answer is an S3 error document. */
export function codeOf(answer: BucketAnswer): string | undefined {
  const code = textOf(answer.body.toString('utf8'), 'Code')?.trim();
  return code !== undefined && CODE.test(code) ? code : undefined;
}

/** Turns an unsuccessful answer into an error. Only the code and the region of the answer's text are passed on. */
export function errorOfAnswer(host: string, answer: BucketAnswer): BucketError {
  const { status } = answer;
  const code = codeOf(answer);
  const failure = failureOf(status, code);
  const words = code === undefined ? `${status}` : `${status} ${code}`;
  const error = (message: string) => new BucketError(failure, message, { status, code });
  switch (failure) {
    case 'denied':
      if (code === 'RequestTimeTooSkewed')
        return error(`${host} reports that this server's clock is wrong (${words})`);
      return error(`${host} denied the request for this access key (${words})`);
    case 'no-bucket':
      return error(`${host} has no bucket with this name (${words})`);
    case 'full':
      return error(`${host} is full, or rejects an object of this size (${words})`);
    case 'slow':
      return error(`${host} is too busy (${words})`);
    default:
      if (isWrongEndpoint(status, code)) return error(`${wrongEndpointText(host, answer)} (${words})`);
      return error(`${host} answered ${words}`);
  }
}

function failureOf(status: number, code: string | undefined): BucketFailure {
  const byCode = code === undefined ? undefined : FAILURES_BY_CODE.get(code);
  return byCode ?? FAILURES_BY_STATUS.get(status) ?? 'failed';
}

function isWrongEndpoint(status: number, code: string | undefined): boolean {
  return (status >= 300 && status < 400) || code === 'AuthorizationHeaderMalformed';
}

/** Redirects are not followed: the target is not trusted, and the signature is valid for one host only. */
function wrongEndpointText(host: string, { headers, body }: BucketAnswer): string {
  const hint = headers['x-amz-bucket-region'] ?? textOf(body.toString('utf8'), 'Region');
  const where = typeof hint === 'string' && REGION.test(hint) ? `: the bucket is in ${hint}` : '';
  return `${host} does not serve this bucket: the region or the endpoint is wrong${where}`;
}
