/**
 * What is wrong, as far as whoever set the bucket up can tell the difference. `slow`: no answer in time, or it asks to be
 * spared. `unreachable`: no connection, or a broken one, so that a request may have had its effect. `address-refused`: we
 * do not connect to such an address. `failed`: everything else.
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
  /** Of the answer; absent where none came. */
  readonly status?: number | undefined;
  /** The service's own word for it, such as `NoSuchBucket`, or the system's, such as `ECONNREFUSED`. */
  readonly code?: string | undefined;
}

/** A bucket did not do what it was asked. The message is for people: it names a host at the most, and no secret. */
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
}
