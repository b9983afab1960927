/** Reasons for a question without an answer. Each reason is a counter. */
export const REJECT_REASONS = [
  'invalid',
  'unauthorized',
  'forbidden',
  'unknown-site',
  'unknown-record',
  'changed',
  'conflict',
  'not-json',
  'limited',
  'cpu',
  'bus-away',
  'lane-away',
  'store-away',
  'too-slow',
  'too-large',
  'busy',
  'crowded',
  'waited',
  'slow',
  'left',
  'not-set-up',
] as const;
export type RejectReason = (typeof REJECT_REASONS)[number];

const STATUS_BY_REASON: Readonly<Record<RejectReason, number>> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  'unknown-site': 404,
  'unknown-record': 404,
  changed: 412,
  conflict: 409,
  'not-json': 415,
  limited: 429,
  cpu: 429,
  'bus-away': 503,
  'lane-away': 503,
  'store-away': 503,
  'too-slow': 503,
  'too-large': 400,
  busy: 503,
  crowded: 503,
  waited: 503,
  // These two are never sent: the body has begun, or the client has gone.
  slow: 503,
  left: 503,
  'not-set-up': 503,
};

/**
 * A question that is not answered. The message is for the client. The error has no stack: it reports no bug of ours, and stacks took 7 % of the
 * time for rejected requests with wrong secrets.
 */
export class RejectError extends Error {
  override readonly name = 'RejectError';
  readonly reason: RejectReason;
  readonly status: number;

  constructor(reason: RejectReason, message: string, cause?: unknown) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.reason = reason;
    this.status = STATUS_BY_REASON[reason];
  }
}
