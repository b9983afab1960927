import type { Metrics } from '../../infra/metrics.ts';
import type { Store } from '../../infra/store/store.ts';
import { FairQueue } from './fair-queue.ts';
import type { FairQueueLimits } from './queue-shares.ts';
import type { StoreSignals } from './store-watch.ts';

/** How long the statements of a question wait before they run, all together; and a stream before its first bytes. */
const WAIT_MAX_MS = 30_000;
/** The store has a thread or two for each statement that runs; more would only slow each other down. */
const STATEMENT_QUEUE = {
  runningMax: 8,
  siteRunningMax: 4,
  waitingMax: 200,
  teamWaitingMax: 150,
  siteWaitingMax: 100,
  waitMaxMs: WAIT_MAX_MS,
};
/** A stream occupies a thread of the store for as long as its reader takes, so streams leave threads for questions. */
const STREAM_QUEUE = {
  runningMax: 3,
  siteRunningMax: 2,
  waitingMax: 20,
  teamWaitingMax: 15,
  siteWaitingMax: 10,
  waitMaxMs: WAIT_MAX_MS,
};
/** Where several processes answer questions, each runs its share; of a site at least a long statement and a short one. */
const SHARED_RUNNING_MIN = 4;

/** A shard of the store, as questions use it. */
export interface HistoryShard {
  readonly store: Pick<Store, 'query' | 'keepsTexts'>;
  /** For streams, which may be silent while the store finds nothing. Its timeout is longer. */
  readonly streams: Pick<Store, 'bytes'>;
  /** False while the store is known to be away, so that questions do not wait one by one for a store that hangs. */
  readonly isReachable: () => boolean;
  /** End statements that wait for a store that hangs; without them, statements wait for their own time limit. */
  readonly signals?: StoreSignals | undefined;
}

/** The same, with what waits for it: a shard that is slow makes no question of another one wait. */
export interface QueuedShard extends HistoryShard {
  readonly queue: FairQueue;
  readonly streamQueue: FairQueue;
}

/** The shard with queues of its own. `processes` is how many ask it, and `index` its place among the shards. */
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

/** The limits of one of several processes that ask the same store. */
function shareOf(limits: FairQueueLimits, processes: number): FairQueueLimits {
  if (processes === 1) return limits;
  const runningMax = Math.max(SHARED_RUNNING_MIN, Math.floor(limits.runningMax / processes));
  return { ...limits, runningMax, siteRunningMax: Math.ceil(runningMax / 2) };
}
