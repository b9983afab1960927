import type { Metrics } from '../../infra/metrics.ts';
import type { Store } from '../../infra/store/store.ts';
import { FairQueue } from './fair-queue.ts';
import type { FairQueueLimits } from './queue-shares.ts';
import type { StoreSignals } from './store-watch.ts';

/** Maximum wait of a question's statements together before they run, and of a stream before its first bytes. */
const WAIT_MAX_MS = 30_000;
/** The store has one or two threads for each running statement; more statements would only slow each other down. */
const STATEMENT_QUEUE = {
  runningMax: 8,
  siteRunningMax: 4,
  waitingMax: 200,
  teamWaitingMax: 150,
  siteWaitingMax: 100,
  waitMaxMs: WAIT_MAX_MS,
};
/** A stream occupies a thread of the store until its reader is done. Few streams leave threads for questions. */
const STREAM_QUEUE = {
  runningMax: 3,
  siteRunningMax: 2,
  waitingMax: 20,
  teamWaitingMax: 15,
  siteWaitingMax: 10,
  waitMaxMs: WAIT_MAX_MS,
};
/** If several processes answer questions, each runs its share: for a site at least a long and a short statement. */
const SHARED_RUNNING_MIN = 4;

/** One shard of the store. */
export interface HistoryShard {
  readonly store: Pick<Store, 'query' | 'keepsTexts'>;
  /** For streams. Its timeout is longer, because a stream is silent while the store finds nothing. */
  readonly streams: Pick<Store, 'bytes'>;
  /** False while the store is known to be unavailable: questions then fail immediately and do not wait for a store that hangs. */
  readonly isReachable: () => boolean;
  /** Signals that end statements when the store hangs. Without them, statements wait for their own time limit. */
  readonly signals?: StoreSignals | undefined;
}

/** A shard with its own queues, so a slow shard does not delay questions to another one. */
export interface QueuedShard extends HistoryShard {
  readonly queue: FairQueue;
  readonly streamQueue: FairQueue;
}

/**
 * @param processes number of processes that ask this shard
 * @param index its place among the shards
 */
export function queuedShard(
  shard: HistoryShard,
  index: number,
  { processes, metrics }: { readonly processes: number; readonly metrics: Metrics },
): QueuedShard {
  const queueOf = (name: string, limits: FairQueueLimits) =>
    new FairQueue({
      name: index === 0 ? name : `${name}-${index + 1}`,
      limits: shareOf(limits, processes),
      metrics,
    });
  return {
    ...shard,
    queue: queueOf('statements', STATEMENT_QUEUE),
    streamQueue: queueOf('streams', STREAM_QUEUE),
  };
}

/** The limits of one process, if several ask the same store. */
function shareOf(limits: FairQueueLimits, processes: number): FairQueueLimits {
  if (processes === 1) return limits;
  const runningMax = Math.max(SHARED_RUNNING_MIN, Math.floor(limits.runningMax / processes));
  return { ...limits, runningMax, siteRunningMax: Math.ceil(runningMax / 2) };
}
