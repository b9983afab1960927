import type { SyncFailure } from '../search-console.ts';

/** Why Google gave no rows: a reason from a closed list, and how long Google asks to wait. */
export class GoogleError extends Error {
  override readonly name = 'GoogleError';
  readonly reason: SyncFailure;
  readonly retryAfterMs: number;

  constructor(
    reason: SyncFailure,
    message: string,
    options: ErrorOptions & { readonly retryAfterMs?: number },
  ) {
    super(message, options);
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }
}

/** A request that got no complete answer: refused, broken off, or too slow. */
export class UnansweredError extends Error {
  override readonly name = 'UnansweredError';
}

/** Reasons of answers with status 403 that ask to wait. All others refuse. */
const QUOTA_REASONS: ReadonlySet<string> = new Set([
  'quotaExceeded',
  'rateLimitExceeded',
  'userRateLimitExceeded',
  'dailyLimitExceeded',
]);
const CAUSES_MAX = 5;
const MESSAGES: Readonly<Record<SyncFailure, string>> = {
  'token-expired': 'Google does not accept the credentials any more. Connect the site again.',
  'no-access':
    'The account may not read this property. Add it in the Search Console, or enable the Search Console API in its project.',
  quota: 'Google asks to wait: the quota is used up.',
  unreadable: 'The secrets can no longer be decrypted. Connect the site again.',
  'google-away': 'Google does not answer.',
  'store-away': 'The event store does not answer.',
  failed: 'Internal error. See the log of the service.',
};

/** The text of a failure for customers. It never has text of an answer, which might repeat a secret. */
export function messageOf(reason: SyncFailure): string {
  return MESSAGES[reason];
}

/** Classifies an error of Google's client library. */
export function googleErrorOf(error: unknown): GoogleError {
  const response = responseOf(error);
  if (response === undefined) {
    // A key that cannot sign is the customer's to replace, like one that Google rejects.
    if (isUnsigned(error)) return new GoogleError('token-expired', 'unusable key', { cause: error });
    const reason = isUnanswered(error) ? 'google-away' : 'failed';
    return new GoogleError(reason, 'no answer', { cause: error });
  }
  const { status, data, retryAfterMs } = response;
  const [kind, code] = codesOf(data);
  return new GoogleError(reasonOf(status, kind, code), `Google answered ${status}`, {
    cause: error,
    retryAfterMs,
  });
}

function reasonOf(status: number, kind: 'token' | 'api', code: string): SyncFailure {
  if (status === 429 || (status === 403 && QUOTA_REASONS.has(code))) return 'quota';
  if (status >= 500 || status === 408) return 'google-away';
  // The token endpoint answers 400 and 401 when it rejects a client, a key or a refresh token.
  if (kind === 'token' || status === 401) return 'token-expired';
  return status === 403 || status === 404 ? 'no-access' : 'failed';
}

/** Both endpoints have `error`: a word at the token endpoint, and an object with reasons elsewhere. */
function codesOf(data: unknown): readonly ['token' | 'api', string] {
  const error = field(data, 'error');
  if (typeof error === 'string') return ['token', error];
  const errors = field(error, 'errors');
  const reason = Array.isArray(errors) ? field(errors[0], 'reason') : undefined;
  return ['api', typeof reason === 'string' ? reason : ''];
}

interface GoogleResponse {
  readonly status: number;
  readonly data: unknown;
  readonly retryAfterMs: number;
}

/** Read field by field, because the library's packages each bring an error class of their own. */
function responseOf(error: unknown): GoogleResponse | undefined {
  const response = field(error, 'response');
  const status = field(response, 'status');
  if (typeof status !== 'number') return undefined;
  const headers = field(response, 'headers');
  const seconds = headers instanceof Headers ? Number(headers.get('retry-after') ?? 0) : 0;
  return {
    status,
    data: field(response, 'data'),
    retryAfterMs: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0,
  };
}

function isUnsigned(error: unknown): boolean {
  const code = field(error, 'code');
  return typeof code === 'string' && code.startsWith('ERR_OSSL');
}

function isUnanswered(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < CAUSES_MAX && cause !== undefined; depth += 1) {
    if (cause instanceof UnansweredError) return true;
    cause = field(cause, 'cause');
  }
  return false;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
