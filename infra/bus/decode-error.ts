/**
 * The reason why bytes cannot be read. `version`: this program does not know the version of the format; `malformed`: anything
 * else.
 */
export const DECODE_FAILURES = ['malformed', 'version'] as const;
export type DecodeFailure = (typeof DECODE_FAILURES)[number];

/** Bytes from the bus that cannot be read. Every decoder of a bus contract throws this error and no other. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
  readonly reason: DecodeFailure;

  constructor(message: string, reason: DecodeFailure = 'malformed', options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
