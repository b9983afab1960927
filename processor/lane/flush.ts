import type { Bus } from '../../infra/bus/bus.ts';
import type { BusError } from '../../infra/bus/bus-error.ts';
import type { Clock } from '../../infra/clock.ts';
import { backoffMs } from '../../infra/concurrency/backoff.ts';
import { pause } from '../../infra/concurrency/pause.ts';
import { type RetryOptions, retry } from '../../infra/concurrency/retry.ts';
import type { Logger } from '../../infra/log.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import type { LaneName } from '../../infra/process/service-lanes.ts';
import type { KeyedInsert, Store } from '../../infra/store/store.ts';
import { LANE_RETRY } from '../consumer/stream-consumer.ts';
import type { LaneFeed } from '../feed/lane-feed.ts';
import { EVENTS_COLUMNS, EVENTS_TABLE, SESSIONS_COLUMNS, SESSIONS_TABLE, structureOf } from '../rows.ts';
import type { LaneGauges, LaneMetrics } from './lane-metrics.ts';
import { LATE_HOURS_TABLE, markLateHours } from './late-hours.ts';
import type { Ownership } from './ownership.ts';
import type { CutBatch, Slices } from './slices.ts';

const RETRIES_WHILE_STOPPING = 3;

export interface FlushOptions {
  readonly lane: number;
  /** The lane's stream of events. */
  readonly stream: string;
  /** The subject of the stream. */
  readonly subject: string;
  /** The lane's name on the bus. */
  readonly name: LaneName;
  readonly ownership: Ownership;
  readonly feed: LaneFeed;
  readonly bus: Bus;
  readonly store: Store;
  readonly slices: Slices;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: LaneMetrics;
  readonly gauges: LaneGauges;
  readonly crashPoint: (point: CrashPoint) => void;
  /** Extent of retries: until success; a few, because the lane stops; or none, because it failed. */
  readonly hurry: () => 'no' | 'soon' | 'at once';
}

/**
 * Brings a batch to the store. Store, then checkpoint, then trim: a crash between two of them repeats work, which
 * `insertOnce` absorbs; any other order can lose a flush. The fault tests kill the process at each gap.
 */
export async function writeFlush(options: FlushOptions, batch: CutBatch, isDeclared: boolean): Promise<void> {
  const { slices, lane, stream, ownership, feed, metrics, gauges, crashPoint, bus, clock } = options;
  const { checkpoint } = batch;
  if (batch.hasRows) {
    crashPoint('flush:before-intent');
    if (!isDeclared) await persist(options, 'flush intent', () => ownership.declare(checkpoint));
    crashPoint('flush:after-intent');
    const { flushNumber } = checkpoint;
    // Before any row of the flush: a rollup that lacks them must not count as complete.
    await insertUntilDone(options, LATE_HOURS_TABLE, () =>
      markLateHours(options.store, {
        lane,
        flushNumber,
        lateHours: batch.lateHours,
        nowMs: clock.nowMs(),
      }),
    );
    if (batch.eventRows > 0)
      await insert(options, {
        key: keyOf(lane, flushNumber),
        isRepeat: isDeclared,
        table: EVENTS_TABLE,
        columns: EVENTS_COLUMNS,
        structure: structureOf('events'),
        chunks: batch.events,
        present: ofFlush(lane, flushNumber),
      });
    crashPoint('flush:after-events');
    // Before the sessions: with these in the store a flush is complete and is never repeated.
    if (batch.eventRows > 0)
      await feed.publish(
        { flushNumber, fedFrom: ownership.fedFrom, events: joined(batch.events) },
        (error, attempt) => untilBusWorks(options, error, attempt),
      );
    crashPoint('flush:after-feed');
    await insertSessions(options, { flushNumber, isRepeat: isDeclared, chunks: batch.sessions });
    crashPoint('flush:after-sessions');
    metrics.flushes.add();
    metrics.flushRows.add(batch.eventRows + batch.sessionRows);
  }
  await persist(options, 'checkpoint', () => ownership.complete(checkpoint));
  gauges.checkpointMs.set(clock.nowMs() / 1000);
  crashPoint('flush:after-checkpoint');
  if (batch.hasRows) await slices.flushed();
  await persist(options, 'stream trim', () => bus.trim(stream, checkpoint.sequence));
  crashPoint('flush:after-ack');
}

/** Rows of sessions with the marker of their flush. */
export interface SessionsInsert extends Pick<KeyedInsert, 'chunks' | 'isRepeat'> {
  readonly flushNumber: number;
}

/** Inserts the sessions of a flush, which is complete then. */
export function insertSessions(
  options: FlushOptions,
  { flushNumber, chunks, isRepeat }: SessionsInsert,
): Promise<void> {
  const { sql, parameters } = ofFlush(options.lane, flushNumber);
  return insert(options, {
    key: keyOf(options.lane, flushNumber),
    isRepeat,
    table: SESSIONS_TABLE,
    columns: SESSIONS_COLUMNS,
    structure: structureOf('sessions'),
    chunks,
    // The marker is found without a scan of the flush's rows, and no merge removes it before the next flush.
    present: { sql: `projectId = '' AND ${sql} AND sign = 1`, parameters },
  });
}

/** The key of a flush's inserts. */
function keyOf(lane: number, flushNumber: number): string {
  return `${lane}:${flushNumber}`;
}

/** A condition that holds for the rows of a flush. */
export function ofFlush(lane: number, flushNumber: number): KeyedInsert['present'] {
  return {
    sql: 'partition = {lane: UInt16} AND flushNumber = {flushNumber: UInt32}',
    parameters: { lane, flushNumber },
  };
}

/** The pieces one after the other; a single piece as it is. */
function joined(pieces: readonly Uint8Array[]): Buffer {
  const [first] = pieces;
  if (pieces.length > 1 || first === undefined) return Buffer.concat(pieces);
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
}

/** Writes to the bus until it succeeds. A write that took effect although its answer was lost is recognised as ours. */
export function persist(options: FlushOptions, operation: string, write: () => Promise<void>): Promise<void> {
  return retry({ ...retryOptions(options), operation, retries: options.metrics.busRetries }, write);
}

/** Waits after a failed write until the bus takes our record, which also says that the lane is still ours. */
async function untilBusWorks(options: FlushOptions, error: BusError, attempt: number): Promise<void> {
  if (isEnough(options, attempt)) throw error;
  await pause(backoffMs(LANE_RETRY, attempt, options.random()));
  await persist(options, 'lease renewal', () => options.ownership.renew());
}

function insert(options: FlushOptions, rows: KeyedInsert): Promise<void> {
  const confirm = () => confirmOurs(options);
  return insertUntilDone(options, rows.table, (attempt) =>
    options.store.insertOnce({ ...rows, isRepeat: rows.isRepeat || attempt > 0, confirm }),
  );
}

/**
 * Throws where the lane is lost. After a pause in which the lease may have ended, the bus is asked: the next owner may have
 * inserted the same rows, and a store that lost its power since does not recognize them by their key.
 */
async function confirmOurs(options: FlushOptions): Promise<void> {
  const { ownership } = options;
  ownership.confirm();
  if (ownership.isRenewalDue) await persist(options, 'lease renewal', () => ownership.renew());
}

/** Inserts until it is done. While the store is unavailable the bus retains new messages, and the lease is renewed. */
export function insertUntilDone(
  options: FlushOptions,
  table: string,
  insertNow: (attempt: number) => Promise<void>,
): Promise<void> {
  const { metrics, lane } = options;
  return retry(
    {
      ...retryOptions(options),
      operation: 'flush insert',
      fields: { lane, table },
      retries: metrics.flushRetries,
      beforeRetry: () => persist(options, 'lease renewal', () => options.ownership.renew()),
    },
    (attempt) => {
      options.ownership.confirm();
      return insertNow(attempt);
    },
  );
}

/** Retry options for every call of a lane. */
export function retryOptions(
  options: FlushOptions,
): Pick<RetryOptions, 'backoff' | 'log' | 'fields' | 'random' | 'sleep' | 'isEnough'> {
  const { log, lane, random } = options;
  const fields = { lane };
  return {
    backoff: LANE_RETRY,
    log,
    fields,
    random,
    sleep: pause,
    isEnough: (retries) => isEnough(options, retries),
  };
}

/** The bus retains messages that the store does not take, so a stop need not wait for either. */
function isEnough({ hurry }: FlushOptions, retries: number): boolean {
  const how = hurry();
  return how === 'at once' || (how === 'soon' && retries >= RETRIES_WHILE_STOPPING);
}
