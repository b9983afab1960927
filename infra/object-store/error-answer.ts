import { BucketError, type BucketFailure } from './bucket-error.ts';
import type { Answer } from './exchange.ts';
import { textOf } from './listing.ts';

// Codes that say more than the status they come with. Amazon's, then what others say in their place.
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

/** The service's own word for what is wrong, if the answer is one of S3. */
export function codeOf(answer: Answer): string | undefined {
  const code = textOf(answer.body.toString('utf8'), 'Code')?.trim();
  return code !== undefined && CODE.test(code) ? code : undefined;
}

/** An answer that is no success, as an error. Nothing of its text is passed on but the code and the region. */
export function reject(host: string, answer: Answer): BucketError {
  const { status } = answer;
  const code = codeOf(answer);
  const failure = failureOf(status, code);
  const words = code === undefined ? `${status}` : `${status} ${code}`;
  const error = (message: string) => new BucketError(failure, message, { status, code });
  switch (failure) {
    case 'denied':
      if (code === 'RequestTimeTooSkewed') return error(`${host} says that our clock is wrong (${words})`);
      return error(`${host} denies what was asked with this key (${words})`);
    case 'no-bucket':
      return error(`${host} has no bucket of this name (${words})`);
    case 'full':
      return error(`${host} takes no more, or nothing of this size (${words})`);
    case 'slow':
      return error(`${host} asks to be spared (${words})`);
    default:
      if (isElsewhere(status, code)) return error(`${elsewhere(host, answer)} (${words})`);
      return error(`${host} answers ${words}`);
  }
}

function failureOf(status: number, code: string | undefined): BucketFailure {
  const byCode = code === undefined ? undefined : FAILURES_BY_CODE.get(code);
  return byCode ?? FAILURES_BY_STATUS.get(status) ?? 'failed';
}

function isElsewhere(status: number, code: string | undefined): boolean {
  return (status >= 300 && status < 400) || code === 'AuthorizationHeaderMalformed';
}

/** Redirects are not followed: whither is not theirs to say, and a signature holds for one host. */
function elsewhere(host: string, { headers, body }: Answer): string {
  const hint = headers['x-amz-bucket-region'] ?? textOf(body.toString('utf8'), 'Region');
  const where = typeof hint === 'string' && REGION.test(hint) ? `: the bucket is in ${hint}` : '';
  return `${host} is not where this bucket is, so that the region or the endpoint is wrong${where}`;
}
