import type { Bus } from '../../infra/bus/bus.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import type { ConfirmGap } from '../../infra/bus/stream-reader.ts';
import type { Clock } from '../../infra/clock.ts';
import { isRetryable, type RetryOptions, retry } from '../../infra/concurrency/retry.ts';
import type { Logger } from '../../infra/log.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import type { LaneLayout, LaneName } from '../../infra/process/service-lanes.ts';
import type { Store } from '../../infra/store/store.ts';
import { LANE_RETRY, type StreamConsumer } from '../consumer/stream-consumer.ts';
import type { EntityDocument } from './document.ts';
import type { BookLimits } from './entity-book.ts';
import { type EntityCheckpoint, encodeEntityCheckpoint } from './entity-checkpoint.ts';
import type { EntityGauges, EntityMetrics } from './entity-metrics.ts';
import { insertEntities } from './entity-store.ts';

/** Dependencies of an entity lane. */
export interface EntityDeps {
  readonly lane: number;
  /** The lane's stream of entity updates. */
  readonly stream: string;
  /** Its subject. */
  readonly subject: string;
  /** The lane's name on the bus. */
  readonly name: LaneName;
  /** Key of the checkpoint of its entities, in the bucket of the lanes. */
  readonly checkpointKey: string;
  /** The subject for events of a lane, in which the revenue of orders is recorded. */
  readonly eventSubjectOf: (lane: number, event: Uint8Array) => string;
  readonly bus: Bus;
  readonly store: Store;
  /** The bucket of the lanes. */
  readonly records: KeyedBytes;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: EntityMetrics;
  readonly gauges: EntityGauges;
  readonly crashPoint: (point: CrashPoint) => void;
  readonly bookLimits: BookLimits;
  readonly layout: LaneLayout;
  /** See `StreamConsumerOptions`. */
  readonly confirmGap?: ConfirmGap | undefined;
  /** True for an error that only means that another process has taken over. */
  readonly isExpected?: (error: unknown) => boolean;
}

/** Changed entities, and the checkpoint that they lead to. */
export interface EntityFlush {
  readonly documents: readonly EntityDocument[];
  readonly checkpoint: EntityCheckpoint;
  /** Revision of the checkpoint before. */
  readonly revision: number;
}

/** The part of the consumer that a flush needs. */
export type FlushConsumer = Pick<StreamConsumer, 'stopping' | 'retry' | 'sleep'>;

/**
 * Writes entities to the store. Store, then checkpoint, then trim: a crash between two of them repeats work, which the
 * documents' versions make harmless. Returns the checkpoint's revision; undefined when the lane stops before the store
 * took the entities, and the bus then retains them.
 * @throws {UnstorableError} when some can never be stored; the others are then
 */
export async function writeEntities(
  options: EntityDeps,
  flush: EntityFlush,
  consumer: FlushConsumer,
): Promise<number | undefined> {
  const { bus, store, stream, checkpointKey, records, metrics, gauges, clock, crashPoint } = options;
  const startMs = performance.now();
  const insert = {
    ...retryOptions(options, consumer),
    operation: 'entity insert',
    retries: metrics.storeRetries,
  };
  const write = { ...retryOptions(options, consumer), retries: metrics.busRetries };
  try {
    await retry(insert, () => insertEntities(store, flush.documents));
  } catch (error) {
    if (consumer.stopping && isRetryable(error)) return undefined;
    throw error;
  }
  crashPoint('entities:after-insert');
  // A conflict means that another process works here; it is not retryable and ends the lane.
  const revision = await retry({ ...write, operation: 'entity checkpoint' }, () =>
    records.put(checkpointKey, encodeEntityCheckpoint(flush.checkpoint), flush.revision),
  );
  crashPoint('entities:after-checkpoint');
  await retry({ ...write, operation: 'entity stream trim' }, () =>
    bus.trim(stream, flush.checkpoint.sequence),
  );
  metrics.flushSeconds.observe((performance.now() - startMs) / 1000);
  metrics.flushedEntities.add(flush.documents.length);
  gauges.checkpointMs.set(clock.nowMs() / 1000);
  return revision;
}

function retryOptions(
  { log, lane, random }: EntityDeps,
  consumer: FlushConsumer,
): Omit<RetryOptions, 'operation' | 'retries'> {
  return {
    backoff: LANE_RETRY,
    log,
    fields: { lane },
    random,
    sleep: (ms) => consumer.sleep(ms),
    isEnough: () => consumer.stopping,
  };
}
