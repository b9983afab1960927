import type { SocketWait } from '../../infra/http/socket-wait.ts';
import type { Collector } from '../collect/collector.ts';
import { busy } from '../request/reject.ts';
import type { TrackResponder } from './track-responder.ts';

const RETRY_SPREAD_S = 5;
const OVERLOADED = busy('overloaded');

export interface LoadDeps {
  readonly collector: Pick<Collector, 'publishDue'>;
  readonly socketWait: Pick<SocketWait, 'waitMs'>;
  /** Requests that have waited for so long until they are read are all refused, in milliseconds; 0: none are. */
  readonly waitMaxMs: number;
}

/**
 * True when the request had to wait for too long until it was read, and was answered with 503. From half of the longest wait on, more and more
 * are refused, so that the wait stays about there, however many connections there are. A refused request costs neither parsing nor the bus.
 */
export function isOverloaded(
  { socketWait, waitMaxMs, collector }: LoadDeps,
  responder: TrackResponder,
): boolean {
  if (waitMaxMs === 0) return false;
  const share = (2 * socketWait.waitMs()) / waitMaxMs - 1;
  if (share <= 0 || share < Math.random()) return false;
  // What was accepted does not wait until no more requests arrive.
  collector.publishDue();
  // Not all of those who are refused together shall come back together.
  const retryAfterS = 1 + Math.floor(Math.random() * RETRY_SPREAD_S);
  responder.rejected({ ...OVERLOADED, headers: [['retry-after', String(retryAfterS)]] });
  return true;
}
