import type { Clock } from '../../infra/clock.ts';
import type { KeyedBytes } from '../../infra/keyed-bytes.ts';
import type { Logger } from '../../infra/log.ts';
import type { Store } from '../../infra/store.ts';
import { decodeLaneRecord, laneKeyOf } from '../lane-record.ts';
import type { RollupMetrics } from './rollup-metrics.ts';
import { HOUR_MS, settledBeforeMs } from './settled.ts';
import { sumUp } from './sums.ts';

/** Hours of one statement: more while that is quick, as over years that have to be made up for, fewer while it is not. */
const STEP = { hoursMax: 48, quickMs: 1_000, slowMs: 5_000 };
/** Late hours that are summed up in one pass, the rest comes in the next. */
const LATE_HOURS_MAX = 2_000;
/** A late hour is summed up again when it was left alone for so many intervals: a visit may go on for hours. */
const QUIET_INTERVALS = 5;
/** How far the clocks of two owners may be apart, for marks that are looked for by their time. */
const CLOCKS_APART_MS = 600_000;
/** Hours of before are read from rows. */
const YEARS_MAX_MS = 20 * 365 * 24 * HOUR_MS;
const PROGRESS_EVERY_MS = 5_000;

export interface RollerOptions {
  readonly store: Store;
  /** The lanes' records. */
  readonly records: KeyedBytes;
  readonly partitions: number;
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: RollupMetrics;
  /** Whether the sums are ours to make. Two that make them at once are no harm: of an hour one of the two sums counts. */
  readonly isOurs: () => boolean;
}

/** What all owners have promised: see `settled.ts`. */
interface Progress {
  readonly flushed: readonly number[];
  readonly settledBeforeMs: number;
}

/**
 * Sums up hours once they are settled, and again those that changed later. Nothing depends on when: a question reads
 * from rows what is not summed up.
 */
export class Roller {
  readonly #options: RollerOptions;
  #block = 0;
  #hours = 1;
  /** Marks of before were seen; 0 when none was. */
  #marksSeenMs = 0;
  #isStopping = false;
  #wake: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  constructor(options: RollerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Ends after the statement that runs. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { log, isOurs, metrics, intervalMs } = this.#options;
    while (!this.#isStopping) {
      if (isOurs()) {
        try {
          await this.pass();
        } catch (error) {
          metrics.failures.add();
          this.#marksSeenMs = 0;
          const reason =
            error instanceof Error ? error.message.replace(/\s+/g, ' ').slice(0, 300) : String(error);
          log.warn({ reason }, 'rollups: a pass failed; again');
        }
      }
      await this.#sleep(intervalMs);
    }
  }

  /** Sums up whatever can be by now. */
  async pass(): Promise<void> {
    const progress = await this.#progress();
    await this.#rollSettled(progress);
    await this.#rollLate(progress);
  }

  async #progress(): Promise<Progress> {
    const { records, partitions } = this.#options;
    const flushed: number[] = [];
    let clockMs = Number.POSITIVE_INFINITY;
    for (let partition = 0; partition < partitions; partition += 1) {
      const stored = await records.get(laneKeyOf(partition));
      const checkpoint = stored?.bytes === undefined ? undefined : decodeLaneRecord(stored.bytes).checkpoint;
      flushed.push(checkpoint?.flushNumber ?? 0);
      clockMs = Math.min(clockMs, checkpoint?.clockMs ?? 0);
    }
    return { flushed, settledBeforeMs: settledBeforeMs(clockMs) };
  }

  async #rollSettled({ flushed, settledBeforeMs: endMs }: Progress): Promise<void> {
    const { store, log, metrics } = this.#options;
    let fromMs = await this.#firstUnrolledMs();
    if (fromMs === undefined) return;
    const startMs = fromMs;
    let shownMs = performance.now();
    while (fromMs < endMs && !this.#isStopping) {
      const count = Math.min(this.#hours, (endMs - fromMs) / HOUR_MS);
      const firstMs = fromMs;
      const hoursMs = Array.from({ length: count }, (_, index) => firstMs + index * HOUR_MS);
      const startedAt = performance.now();
      await sumUp(store, { projectId: undefined, hoursMs, block: this.#nextBlock(), flushed });
      const tookMs = performance.now() - startedAt;
      metrics.hours.add(count);
      metrics.seconds.observe(tookMs / 1000);
      if (tookMs < STEP.quickMs) this.#hours = Math.min(STEP.hoursMax, this.#hours * 2);
      if (tookMs > STEP.slowMs) this.#hours = Math.max(1, Math.floor(this.#hours / 2));
      fromMs += count * HOUR_MS;
      metrics.endSeconds.set(fromMs / 1000);
      if (performance.now() - shownMs > PROGRESS_EVERY_MS) {
        shownMs = performance.now();
        const done = Math.round(((fromMs - startMs) / (endMs - startMs)) * 100);
        log.info(
          { percent: done, hoursLeft: (endMs - fromMs) / HOUR_MS },
          'rollups: making up for past hours',
        );
      }
    }
  }

  /** Where to go on: behind the last hour that is summed up, or with the first that has anything. */
  async #firstUnrolledMs(): Promise<number | undefined> {
    const { store, clock } = this.#options;
    const [rolled] = await store.query<{ hours: number; last: number }>(
      "SELECT count() AS hours, toUnixTimestamp(max(hour)) AS last FROM rollup_blocks WHERE projectId = ''",
    );
    if (rolled !== undefined && rolled.hours > 0) return rolled.last * 1000 + HOUR_MS;
    const [stored] = await store.query<{ rows: number; first: number }>(
      "SELECT count() AS rows, min(toUnixTimestamp64Milli(startedAt)) AS first FROM sessions WHERE projectId != ''",
    );
    const [events] = await store.query<{ rows: number; first: number }>(
      'SELECT count() AS rows, min(toUnixTimestamp64Milli(createdAt)) AS first FROM events',
    );
    const firsts = [stored, events].flatMap((found) =>
      found !== undefined && found.rows > 0 ? [found.first] : [],
    );
    if (firsts.length === 0) return undefined;
    const oldestMs = clock.nowMs() - YEARS_MAX_MS;
    return Math.floor(Math.max(oldestMs, Math.min(...firsts)) / HOUR_MS) * HOUR_MS;
  }

  async #rollLate({ flushed, settledBeforeMs: endMs }: Progress): Promise<void> {
    const { store, clock, metrics, intervalMs } = this.#options;
    const nowMs = clock.nowMs();
    const quietMs = intervalMs * QUIET_INTERVALS;
    const rows = await store.query<{ projectId: string; hours: number[] }>(STALE_HOURS, {
      since: Math.max(0, Math.floor((this.#marksSeenMs - quietMs - CLOCKS_APART_MS) / 1000)),
      quietSince: Math.ceil((nowMs - quietMs) / 1000),
      end: Math.max(0, endMs / 1000),
      max: LATE_HOURS_MAX,
    });
    for (const { projectId, hours } of rows) {
      if (this.#isStopping) return;
      const hoursMs = hours.map((hour) => hour * 1000);
      await sumUp(store, { projectId, hoursMs, block: this.#nextBlock(), flushed });
      metrics.lateHours.add(hours.length);
    }
    const count = rows.reduce((sum, { hours }) => sum + hours.length, 0);
    if (count < LATE_HOURS_MAX) this.#marksSeenMs = nowMs;
  }

  /** Numbers rise from one process to the next, as long as its clock does; if not, an hour is read from rows for longer. */
  #nextBlock(): number {
    this.#block = Math.max(this.#block + 1, this.#options.clock.nowMs());
    return this.#block;
  }

  #sleep(ms: number): Promise<void> {
    if (this.#isStopping) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/**
 * Hours that were marked by a flush which is not in their sums, by site; hours without sums among them, as those of
 * before the first.
 */
const STALE_HOURS = `
WITH marks AS
(
    SELECT projectId, hour, partition, max(flushNumber) AS flushNumber, max(markedAt) AS lastMarkedAt
    FROM late_hours
    WHERE markedAt >= toDateTime({since:UInt32}, 'UTC') AND hour < toDateTime({end:UInt32}, 'UTC')
    GROUP BY projectId, hour, partition
),
blocks AS
(
    SELECT projectId, hour, max(block) AS lastBlock, argMax(flushed, block) AS lastFlushed
    FROM rollup_blocks
    WHERE hour IN (SELECT hour FROM marks) AND (projectId = '' OR projectId IN (SELECT projectId FROM marks))
    GROUP BY projectId, hour
)
SELECT projectId, groupArray(toUnixTimestamp(hour)) AS hours
FROM
(
    SELECT marks.projectId AS projectId, marks.hour AS hour, max(lastMarkedAt) AS markedAt
    FROM marks
    LEFT JOIN (SELECT * FROM blocks WHERE projectId != '') AS own
        ON marks.projectId = own.projectId AND marks.hour = own.hour
    LEFT JOIN (SELECT * FROM blocks WHERE projectId = '') AS common ON marks.hour = common.hour
    GROUP BY projectId, hour
    HAVING max(marks.flushNumber >
        if(own.lastBlock >= common.lastBlock, own.lastFlushed, common.lastFlushed)[marks.partition + 1])
        AND markedAt <= toDateTime({quietSince:UInt32}, 'UTC')
    ORDER BY projectId, hour
    LIMIT {max:UInt64}
)
GROUP BY projectId`;
