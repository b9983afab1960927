import type { Counter, Histogram, Metrics } from '../metrics.ts';
import { CODES } from './exceptions.ts';
import type { Executor, Outcome } from './execute.ts';

/** Why a request was not answered with a result. */
const REFUSALS = ['busy', 'authentication', 'cancelled', 'memory', 'time', 'other'] as const;
type Reject = (typeof REFUSALS)[number];

const REFUSAL_OF_CODE: Readonly<Record<number, Reject>> = {
  [CODES.TOO_MANY_SIMULTANEOUS_QUERIES]: 'busy',
  [CODES.NOT_ENOUGH_SPACE]: 'busy',
  [CODES.AUTHENTICATION_FAILED]: 'authentication',
  [CODES.QUERY_WAS_CANCELLED]: 'cancelled',
  241: 'memory',
  159: 'time',
};

/** What the store counts about itself. */
export class StoreMetrics {
  readonly #insertSeconds: Histogram;
  readonly #querySeconds: Histogram;
  readonly #rowsWritten: Counter;
  readonly #refusals: Readonly<Record<Reject, Counter>>;

  constructor(metrics: Metrics, { queries, inserts }: Executor) {
    metrics.gaugeOf('store_queries_in_flight', 'queries that run', {}, () => queries.running);
    metrics.gaugeOf('store_queries_waiting', 'queries that wait for a place', {}, () => queries.waiting);
    metrics.gaugeOf('store_inserts_in_flight', 'inserts that run', {}, () => inserts.running);
    metrics.gaugeOf('store_inserts_waiting', 'inserts that wait for a place', {}, () => inserts.waiting);
    metrics.gaugeOf('store_resident_bytes', 'memory of the process', {}, () => process.memoryUsage.rss());
    this.#insertSeconds = metrics.seconds('store_insert_seconds', 'from the head of an insert to its answer');
    this.#querySeconds = metrics.seconds(
      'store_query_seconds',
      'from the head of a query to the end of its answer',
    );
    this.#rowsWritten = metrics.counter(
      'store_rows_written_total',
      'rows written, those of dependent views too',
    );
    this.#refusals = metrics.reasons('store_refusals_total', 'requests answered with an error', REFUSALS);
  }

  succeeded({ kind, summary }: Outcome, seconds: number): void {
    (kind === 'insert' ? this.#insertSeconds : this.#querySeconds).observe(seconds);
    this.#rowsWritten.add(summary.writtenRows);
  }

  failed(code: number): void {
    this.#refusals[REFUSAL_OF_CODE[code] ?? 'other'].add();
  }
}
