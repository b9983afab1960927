import { type CpuBudget, isBusyAt } from '../../infra/accounts/cpu-budget.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { SocketWait } from '../../infra/http/socket-wait.ts';
import { limitedNetwork, provenAddress } from '../../infra/network/client-address.ts';
import type { Collector } from '../collect/collector.ts';
import { busy } from '../request/reject.ts';
import type { RequestFacts } from '../request/request-facts.ts';
import type { TrackResponder } from './track-responder.ts';

const RETRY_SPREAD_S = 5;
const OVERLOADED = busy('overloaded');

export interface LoadDeps {
  readonly collector: Pick<Collector, 'publishDue'>;
  readonly cpu: CpuBudget;
  readonly socketWait: Pick<SocketWait, 'waitMs'>;
  /** Requests that have waited this long until they are read are all refused, in milliseconds; 0: none are. */
  readonly waitMaxMs: number;
}

/**
 * True when the request was answered because of load. While the process is busy, the most expensive senders get 429 first. Senders whose
 * rejected requests cost too much get it even when it is not. From half of the longest wait on, more and more of the others get 503, so
 * that the wait stays about there with any number of connections. A refused request costs neither parsing nor the bus.
 */
export function isOverloaded(
  { socketWait, waitMaxMs, collector, cpu }: LoadDeps,
  facts: RequestFacts,
  responder: TrackResponder,
): boolean {
  const waitMs = socketWait.waitMs();
  // A right secret is not refused because others from its address fail.
  if (cpu.hasRejected && facts.client.clientSecret === '' && cpu.refusesRejected(networkOf(facts)))
    return refused(responder);
  if (isBusyAt(waitMs) && cpu.refuses(claimedOwnerOf(facts))) return refused(responder);
  if (waitMaxMs === 0) return false;
  const share = (2 * waitMs) / waitMaxMs - 1;
  if (share <= 0 || share < Math.random()) return false;
  // Accepted events do not wait until no more requests arrive.
  collector.publishDue();
  responder.rejected({ ...OVERLOADED, headers: retryAfter() });
  return true;
}

function refused(responder: TrackResponder): true {
  responder.rejected({
    reason: 'cpu',
    status: 429,
    message:
      'the requests of this sender take more of the service than its share; retry after the time in Retry-After',
    headers: retryAfter(),
  });
  return true;
}

/** Spreads retries: senders that are refused together should not all come back together. */
function retryAfter(): HeaderList {
  return [['retry-after', String(1 + Math.floor(Math.random() * RETRY_SPREAD_S))]];
}

/** The network that a request comes from. */
export function networkOf(facts: RequestFacts): string {
  return limitedNetwork(provenAddress(facts.claims));
}

/** The owner of a request's work if its secret is right; nothing is counted before that is known. */
function claimedOwnerOf(facts: RequestFacts): string {
  const { clientId, clientSecret } = facts.client;
  return clientId !== '' && clientSecret !== '' ? clientId : networkOf(facts);
}
