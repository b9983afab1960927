import type { HeaderList } from '../../infra/http/headers.ts';

/** The reason why the bus did not take a valid event. */
export const PUBLISH_REJECTS = ['in-flight', 'bus-away', 'bus-full', 'disk-full', 'draining'] as const;
export type PublishReject = (typeof PUBLISH_REJECTS)[number];

/** The reason for rejecting a request. Each is a counter that starts at zero. */
export const REJECT_REASONS = [
  'overloaded',
  'cpu',
  'limited',
  'site-rate',
  'content-type',
  'not-utf8',
  'not-json',
  'schema',
  'not-a-number',
  'unsafe-revenue',
  'unsafe-alias',
  'too-large',
  'aliases-full',
  'too-old',
  'no-client',
  'unknown-client',
  'wrong-secret',
  'guessing',
  'expired',
  'no-scope',
  'foreign-address',
  'origin',
  'no-site',
  'foreign-site',
  'no-salt',
  ...PUBLISH_REJECTS,
] as const;
export type RejectReason = (typeof REJECT_REASONS)[number];

/** A rejection as the caller gets it; `message` names the field. */
export interface Reject {
  readonly reason: RejectReason;
  readonly status: 400 | 401 | 403 | 404 | 413 | 415 | 429 | 503;
  readonly message: string;
  /** Headers of this response, besides the ones of every response. */
  readonly headers?: HeaderList;
}

const BUSY_MESSAGES: Readonly<Partial<Record<RejectReason, string>>> = {
  overloaded: 'this node gets more requests than it can take; try again',
  'in-flight': 'too many events are waiting to be stored; try again',
  'bus-away': 'the event could not be stored; try again',
  'bus-full': 'storage for events is full until the store has caught up; try again later',
  'disk-full': 'the disk of this node is full; try again later',
  draining: 'this node is shutting down; try again',
  'no-salt': 'the salt of the day is not available yet; try again',
};

/** A 503: the request is fine, and the sender may retry. */
export function busy(reason: RejectReason): Reject {
  return { reason, status: 503, message: BUSY_MESSAGES[reason] ?? 'try again' };
}
