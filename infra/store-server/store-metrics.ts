import type { Counter, Histogram, Metrics } from '../metrics.ts';
import type { BrokenParts } from './broken-parts.ts';
import type { DiskSpace } from './disk-space.ts';
import { CODES } from './exceptions.ts';
import type { Executor, Outcome } from './execute.ts';

/** The reason why a request was answered with an error. */
const REJECT_REASONS = ['busy', 'authentication', 'cancelled', 'memory', 'time', 'disk', 'other'] as const;
type StoreRejectReason = (typeof REJECT_REASONS)[number];

const REASON_OF_CODE: Readonly<Record<number, StoreRejectReason>> = {
  [CODES.TOO_MANY_SIMULTANEOUS_QUERIES]: 'busy',
  [CODES.NOT_ENOUGH_SPACE]: 'disk',
  [CODES.AUTHENTICATION_FAILED]: 'authentication',
  [CODES.QUERY_WAS_CANCELLED]: 'cancelled',
  241: 'memory',
  159: 'time',
};

export interface StoreMetricsOptions {
  readonly metrics: Metrics;
  readonly executor: Executor;
  readonly disk: DiskSpace;
  readonly brokenParts: BrokenParts;
}

/** Metrics of the store itself. */
export class StoreMetrics {
  readonly #insertSeconds: Histogram;
  readonly #querySeconds: Histogram;
  readonly #rowsWritten: Counter;
  readonly #rejects: Readonly<Record<StoreRejectReason, Counter>>;

  constructor({ metrics, executor: { queries, inserts }, disk, brokenParts }: StoreMetricsOptions) {
    metrics.gaugeOf('store_queries_in_flight', 'Queries that are running.', {}, () => queries.running);
    metrics.gaugeOf(
      'store_queries_waiting',
      'Queries that wait for a permit to run.',
      {},
      () => queries.waiting,
    );
    metrics.gaugeOf('store_inserts_in_flight', 'Inserts that are running.', {}, () => inserts.running);
    metrics.gaugeOf(
      'store_inserts_waiting',
      'Inserts that wait for a permit to run.',
      {},
      () => inserts.waiting,
    );
    metrics.gaugeOf('store_resident_bytes', 'Resident memory of the store process.', {}, () =>
      process.memoryUsage.rss(),
    );
    metrics.gaugeOf(
      'store_disk_free_bytes',
      'Free space on the disk of the store.',
      {},
      () => disk.freeBytes,
    );
    metrics.gaugeOf(
      'store_disk_kept_free_bytes',
      'Free space below which the store writes nothing.',
      {},
      () => disk.keptFreeBytes,
    );
    metrics.gaugeOf(
      'store_broken_parts',
      'Parts of tables that lie aside because they are broken; their rows may be missing.',
      {},
      () => brokenParts.count,
    );
    this.#insertSeconds = metrics.seconds(
      'store_insert_seconds',
      'Time from the head of an insert to its answer.',
    );
    this.#querySeconds = metrics.seconds(
      'store_query_seconds',
      'Time from the head of a query to the end of its answer.',
    );
    this.#rowsWritten = metrics.counter(
      'store_rows_written_total',
      'Rows written, including those of dependent views.',
    );
    this.#rejects = metrics.reasons(
      'store_rejects_total',
      'Requests answered with an error.',
      REJECT_REASONS,
    );
  }

  succeeded({ kind, summary }: Outcome, seconds: number): void {
    (kind === 'insert' ? this.#insertSeconds : this.#querySeconds).observe(seconds);
    this.#rowsWritten.add(summary.writtenRows);
  }

  failed(code: number): void {
    this.#rejects[REASON_OF_CODE[code] ?? 'other'].add();
  }
}
