/**
 * The cause of a failure, in terms of what the bucket's owner can fix. `slow`: no answer in time, or the storage asks for fewer requests.
 * `unreachable`: no connection or a broken one, so the request may have taken effect. `address-refused`: the setting ENDPOINTS_ALLOWED does
 * not allow this address. `failed`: everything else.
 */
export const BUCKET_FAILURES = [
  'denied',
  'no-bucket',
  'full',
  'slow',
  'unreachable',
  'address-refused',
  'failed',
] as const;
export type BucketFailure = (typeof BUCKET_FAILURES)[number];

interface BucketErrorOptions extends ErrorOptions {
  /** The status of the answer; absent when there was none. */
  readonly status?: number | undefined;
  /** The service's own error code, such as `NoSuchBucket`, or the system's, such as `ECONNREFUSED`. */
  readonly code?: string | undefined;
}

/** A request to a bucket failed. The message can be shown to people: it names at most a host, and no secret. */
export class BucketError extends Error {
  override readonly name = 'BucketError';
  readonly failure: BucketFailure;
  readonly status: number | undefined;
  readonly code: string | undefined;

  constructor(failure: BucketFailure, message: string, options: BucketErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.failure = failure;
    this.status = options.status;
    this.code = options.code;
  }

  /** True if the same request may succeed later. A storage that is full, or denies it, needs its owner first. */
  get retryable(): boolean {
    const { failure, status = 0 } = this;
    return failure === 'slow' || failure === 'unreachable' || (failure === 'failed' && status >= 500);
  }
}
