import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { Clock } from '../../infra/clock.ts';
import { type Backoff, backoffMs } from '../../infra/concurrency/backoff.ts';
import type { Logger } from '../../infra/log.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import { type KeyedInsert, type Store, StoreError } from '../../infra/store/store.ts';
import { streamOf } from '../../ingest/event.ts';
import type { PartitionFeed } from '../feed/partition-feed.ts';
import { EVENTS_COLUMNS, EVENTS_TABLE, SESSIONS_COLUMNS, SESSIONS_TABLE } from '../rows.ts';
import type { LaneGauges, LaneMetrics } from './lane-metrics.ts';
import { markLateHours } from './late-hours.ts';
import type { Ownership } from './ownership.ts';
import type { WorkerHandle } from './worker-handle.ts';
import type { CutBatch } from './worker-tasks.ts';

export const RETRY_BACKOFF: Backoff = { firstMs: 100, maxMs: 5_000 };
const TRIES_WHILE_STOPPING = 3;

export interface FlushOptions {
  readonly partition: number;
  readonly ownership: Ownership;
  readonly feed: PartitionFeed;
  readonly bus: Bus;
  readonly store: Store;
  readonly worker: WorkerHandle;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: LaneMetrics;
  readonly gauges: LaneGauges;
  readonly crashPoint: (point: CrashPoint) => void;
  /** How long to go on trying: for ever, a few times since the lane stops, or no more since it failed. */
  readonly hurry: () => 'no' | 'soon' | 'at once';
}

/**
 * Brings a batch to the store. Store, then checkpoint, then forget: a crash between two of them repeats work, which
 * `insertOnce` absorbs; any other order can lose a flush. The fault tests kill the process at each gap.
 */
export async function writeFlush(options: FlushOptions, batch: CutBatch, isDeclared: boolean): Promise<void> {
  const { worker, partition, ownership, feed, metrics, gauges, crashPoint, bus, clock } = options;
  const { checkpoint } = batch;
  if (batch.hasRows) {
    crashPoint('flush:before-intent');
    if (!isDeclared) await persist(options, () => ownership.declare(checkpoint));
    crashPoint('flush:after-intent');
    const { flushNumber } = checkpoint;
    // Before any row of the flush: a sum that lacks them must not be taken for whole.
    await again(options, 'late_hours', () =>
      markLateHours(options.store, {
        partition,
        flushNumber,
        lateHours: batch.lateHours,
        nowMs: clock.nowMs(),
      }),
    );
    const common = { key: `${partition}:${flushNumber}`, isRepeat: isDeclared };
    const ofFlush = 'partition = {partition: UInt16} AND flushNumber = {flushNumber: UInt32}';
    const parameters = { partition, flushNumber };
    if (batch.eventRows > 0)
      await insert(options, {
        ...common,
        table: EVENTS_TABLE,
        columns: EVENTS_COLUMNS,
        chunks: [new Uint8Array(batch.events)],
        present: { sql: ofFlush, parameters },
      });
    crashPoint('flush:after-events');
    // In front of the sessions: with these in the store a flush is complete and is never done again.
    if (batch.eventRows > 0)
      await feed.publish({ flushNumber, events: Buffer.from(batch.events) }, (error, attempt) =>
        untilBusWorks(options, error, attempt),
      );
    crashPoint('flush:after-feed');
    await insert(options, {
      ...common,
      table: SESSIONS_TABLE,
      columns: SESSIONS_COLUMNS,
      chunks: [new Uint8Array(batch.sessions)],
      // The marker: of all rows of a flush it is found at once, and nothing merges it away before the next flush.
      present: { sql: `projectId = '' AND ${ofFlush} AND sign = 1`, parameters },
    });
    crashPoint('flush:after-sessions');
    metrics.flushes.add();
    metrics.flushRows.add(batch.eventRows + batch.sessionRows);
  }
  await persist(options, () => ownership.complete(checkpoint));
  gauges.checkpointMs.set(clock.nowMs() / 1000);
  crashPoint('flush:after-checkpoint');
  if (batch.hasRows) await worker.flushed(partition);
  await persist(options, () => bus.trim(streamOf(partition), checkpoint.sequence));
  crashPoint('flush:after-ack');
}

/** Writes to the bus, again and again while it is away. A write that took effect unheard is recognised as ours. */
export async function persist(options: FlushOptions, write: () => Promise<void>): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await write();
      return;
    } catch (error) {
      if (!(error instanceof BusError) || !error.retryable || isEnough(options, attempt)) throw error;
      await pause(options, attempt);
    }
  }
}

/** Waits after a failed write until the bus takes our record, which also says that the partition is still ours. */
async function untilBusWorks(options: FlushOptions, error: BusError, attempt: number): Promise<void> {
  if (isEnough(options, attempt)) throw error;
  await pause(options, attempt);
  await persist(options, () => options.ownership.renew());
}

function insert(options: FlushOptions, rows: KeyedInsert): Promise<void> {
  return again(options, rows.table, (attempt) =>
    options.store.insertOnce(attempt === 0 ? rows : { ...rows, isRepeat: true }),
  );
}

/** Inserts until it is done. While the store is away the bus keeps what comes, and the lease is kept up. */
async function again(
  options: FlushOptions,
  table: string,
  insertNow: (attempt: number) => Promise<void>,
): Promise<void> {
  const { metrics, log, partition, ownership } = options;
  for (let attempt = 0; ; attempt += 1) {
    try {
      await insertNow(attempt);
      return;
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== 'retryable' || isEnough(options, attempt))
        throw error;
      metrics.flushRetries.add();
      const level = attempt < 3 ? 'info' : attempt < 10 ? 'warn' : 'error';
      const reason = error.message;
      log[level]({ partition, table, attempt, reason }, 'lane: the store did not take a flush; again');
      await pause(options, attempt);
      await persist(options, () => ownership.renew());
    }
  }
}

/** The bus keeps what the store does not take, so a stop need not wait for either. */
function isEnough({ hurry }: FlushOptions, attempt: number): boolean {
  const how = hurry();
  return how === 'at once' || (how === 'soon' && attempt >= TRIES_WHILE_STOPPING);
}

/** Waits before the next try. */
export function pause({ random }: Pick<FlushOptions, 'random'>, attempt: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, backoffMs(RETRY_BACKOFF, attempt, random())));
}
