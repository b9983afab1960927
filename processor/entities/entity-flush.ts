import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import type { Clock } from '../../infra/clock.ts';
import { type Backoff, backoffMs } from '../../infra/concurrency/backoff.ts';
import type { Logger } from '../../infra/log.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import { type Store, StoreError } from '../../infra/store/store.ts';
import { entityStreamOf } from '../../ingest/entity-update.ts';
import type { EntityDocument } from './document.ts';
import type { BookLimits } from './entity-book.ts';
import { type EntityCheckpoint, encodeEntityCheckpoint, entityCheckpointKeyOf } from './entity-checkpoint.ts';
import type { EntityGauges, EntityMetrics } from './entity-metrics.ts';
import { insertEntities } from './entity-store.ts';

export const ENTITY_RETRY: Backoff = { firstMs: 100, maxMs: 5_000 };

/** What the records of a partition are kept with. */
export interface EntityDeps {
  readonly partition: number;
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
}

/** Changed records, and the checkpoint that they lead to. */
export interface EntityFlush {
  readonly documents: readonly EntityDocument[];
  readonly checkpoint: EntityCheckpoint;
  /** Of the checkpoint before. */
  readonly revision: number;
}

/** How long to go on trying. */
export interface Patience {
  readonly isStopping: () => boolean;
  readonly sleep: (ms: number) => Promise<void>;
}

/**
 * Brings records to the store. Store, then checkpoint, then forget: a crash between two of them repeats work that the
 * documents' versions make harmless. Returns the checkpoint's revision; undefined when the lane stops before the store
 * took the records, which the bus then keeps.
 */
export async function writeEntities(
  options: EntityDeps,
  flush: EntityFlush,
  patience: Patience,
): Promise<number | undefined> {
  const { bus, partition, metrics, gauges, clock, crashPoint } = options;
  const startMs = performance.now();
  if (!(await insert(options, flush, patience))) return undefined;
  crashPoint('entities:after-insert');
  const revision = await persist(options, flush, patience);
  crashPoint('entities:after-checkpoint');
  await bus.trim(entityStreamOf(partition), flush.checkpoint.sequence);
  metrics.flushSeconds.observe((performance.now() - startMs) / 1000);
  metrics.flushedEntities.add(flush.documents.length);
  gauges.checkpointMs.set(clock.nowMs() / 1000);
  return revision;
}

async function insert(options: EntityDeps, flush: EntityFlush, patience: Patience): Promise<boolean> {
  const { store, metrics, log, partition, random } = options;
  for (let attempt = 0; ; attempt += 1) {
    try {
      await insertEntities(store, flush.documents);
      return true;
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== 'retryable') throw error;
      if (patience.isStopping()) return false;
      metrics.storeRetries.add();
      const level = attempt < 3 ? 'info' : attempt < 10 ? 'warn' : 'error';
      const reason = error.message;
      log[level]({ partition, attempt, reason }, 'entities: the store did not take a flush; again');
    }
    await patience.sleep(backoffMs(ENTITY_RETRY, attempt, random()));
  }
}

/** A conflict means that another process is at work here, and ends the lane. */
async function persist(options: EntityDeps, flush: EntityFlush, patience: Patience): Promise<number> {
  const { records, partition, random } = options;
  const key = entityCheckpointKeyOf(partition);
  const bytes = encodeEntityCheckpoint(flush.checkpoint);
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await records.put(key, bytes, flush.revision);
    } catch (error) {
      if (!(error instanceof BusError) || !error.retryable || patience.isStopping()) throw error;
    }
    await patience.sleep(backoffMs(ENTITY_RETRY, attempt, random()));
  }
}
