import { randomInt } from 'node:crypto';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import type { Clock } from '../../infra/clock.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import type { Store } from '../../infra/store/store.ts';
import { finalizedBeforeMs } from '../fold/finalized.ts';
import { decodeLaneRecord, laneKeyOf } from '../lane/lane-record.ts';
import { lateStarts, unrolledStarts } from './pending.ts';
import { announceInvalidation, type SumUp, sumUp } from './rollup.ts';
import type { RollupMetrics } from './rollup-metrics.ts';
import { SUM_UNITS, type SumUnit, startOfUnit, UNITS } from './units.ts';

/** How many a statement sums up: more while that is quick, as over years to be made up for, fewer while it is not. */
const STEP = { quickMs: 1_000, slowMs: 5_000 };
const STEP_MAX: Readonly<Record<SumUnit, number>> = { hour: 48, day: 16 };
/** Late hours and days of one site that a statement sums up, and those of all sites in one pass; the rest comes next. */
const LATE_STEP: Readonly<Record<SumUnit, number>> = { hour: 2_000, day: 16 };
const LATE_MAX: Readonly<Record<SumUnit, number>> = { hour: 2_000, day: 400 };
/** What is late is summed up again when it was left alone for so many intervals: a visit may go on for hours. */
const QUIET_INTERVALS = 5;
/** How far the clocks of two owners may be apart, for marks that are looked for by their time. */
const CLOCKS_APART_MS = 600_000;
const PROGRESS_EVERY_MS = 5_000;
/** Numbers of a millisecond, half of them odd: below 2⁵³ until the year 2109, as JSON wants them. */
const BLOCKS_PER_MS = 2_048;

export interface RollupJobOptions {
  readonly store: Store;
  /** The lanes' records. */
  readonly records: KeyedBytes;
  readonly partitions: number;
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: RollupMetrics;
  /** Whether the sums are ours to make. Two that make them at once do no harm, see `sumUp`. */
  readonly isOurs: () => boolean;
}

/** What all owners have promised: see `settled.ts`. */
interface Progress {
  readonly flushed: readonly number[];
  readonly finalizedBeforeMs: number;
}

/**
 * Sums up hours and days once they are settled, and again those that changed later. Nothing depends on when: a question
 * reads from rows what is not summed up.
 */
export class RollupJob {
  readonly #options: RollupJobOptions;
  /** Tells the numbers of two rollers of one moment apart. */
  readonly #salt = 2 * randomInt(BLOCKS_PER_MS / 2);
  #blockMs = 0;
  readonly #steps: Record<SumUnit, number> = { hour: 1, day: 1 };
  /** Marks of before were seen; 0 when none was. */
  readonly #marksSeenMs: Record<SumUnit, number> = { hour: 0, day: 0 };
  #isStopping = false;
  readonly #notify = new Notify();
  #running: Promise<void> = Promise.resolve();
  /** The last of those that want no other at work beside them. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: RollupJobOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Ends after the statement that runs. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#notify.end();
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
          log.warn({ reason: reasonOf(error) }, 'rollups: a pass failed; again');
        }
      }
      await this.#notify.sleep(intervalMs);
    }
  }

  /** Sums up whatever can be by now. */
  async pass(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#skipBlocks();
      for (const unit of SUM_UNITS) await this.#rollFinalized(unit, await this.#progress());
      for (const unit of SUM_UNITS) await this.#rollLate(unit, await this.#progress());
    });
  }

  /**
   * Runs `work` while nothing is summed up, once the sums of these hours and days of a site, by their beginnings, do not
   * count any more: rows are read in their place, until a pass makes them anew from what rows there are then. `work` is
   * told the block below which such sums are of no use to anybody.
   */
  async withoutSums(
    projectId: string,
    startsMs: Readonly<Record<SumUnit, readonly number[]>>,
    work: (block: number) => Promise<void>,
  ): Promise<void> {
    await this.#inTurn(async () => {
      await this.#skipBlocks();
      const nowMs = this.#options.clock.nowMs();
      const block = this.#nextBlock(nowMs);
      for (const unit of SUM_UNITS) {
        const starts = startsMs[unit];
        if (starts.length > 0)
          await announceInvalidation(this.#options.store, {
            projectId,
            unit,
            startsMs: starts,
            block,
            flushed: [],
            nowMs,
          });
      }
      await work(block - 1);
    });
    this.#notify.wake();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {}); // Whoever asked for it hears of it.
    return done;
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
    return { flushed, finalizedBeforeMs: finalizedBeforeMs(clockMs) };
  }

  async #rollFinalized(unit: SumUnit, { flushed, finalizedBeforeMs: finalizedMs }: Progress): Promise<void> {
    const { store, clock, log, metrics } = this.#options;
    const endMs = startOfUnit(unit, finalizedMs);
    const starts = await unrolledStarts(store, unit, { endMs, nowMs: clock.nowMs() });
    let shownMs = performance.now();
    for (let done = 0; done < starts.length && !this.#isStopping; ) {
      const startsMs = starts.slice(done, done + this.#steps[unit]);
      const startedAt = performance.now();
      await this.#sumUp({ projectId: undefined, unit, startsMs, flushed });
      const tookMs = performance.now() - startedAt;
      if (tookMs < STEP.quickMs) this.#steps[unit] = Math.min(STEP_MAX[unit], this.#steps[unit] * 2);
      if (tookMs > STEP.slowMs) this.#steps[unit] = Math.max(1, Math.floor(this.#steps[unit] / 2));
      done += startsMs.length;
      metrics.summed[unit].add(startsMs.length);
      metrics.seconds[unit].observe(tookMs / 1000);
      metrics.endSeconds[unit].set(((startsMs.at(-1) ?? 0) + UNITS[unit].ms) / 1000);
      if (performance.now() - shownMs > PROGRESS_EVERY_MS) {
        shownMs = performance.now();
        const percent = Math.round((done / starts.length) * 100);
        log.info({ unit, percent, left: starts.length - done }, 'rollups: making up for past times');
      }
    }
  }

  async #rollLate(unit: SumUnit, { flushed, finalizedBeforeMs: finalizedMs }: Progress): Promise<void> {
    const { store, clock, metrics, intervalMs } = this.#options;
    const nowMs = clock.nowMs();
    const quietMs = intervalMs * QUIET_INTERVALS;
    const sinceMs = this.#marksSeenMs[unit] - quietMs - CLOCKS_APART_MS;
    // Until all that is found is summed up: whoever fails at it looks at all marks again.
    this.#marksSeenMs[unit] = 0;
    const late = await lateStarts(store, unit, {
      sinceMs,
      quietSinceMs: nowMs - quietMs,
      endMs: startOfUnit(unit, finalizedMs),
      max: LATE_MAX[unit],
    });
    for (const { projectId, startsMs } of late) {
      for (let done = 0; done < startsMs.length; done += LATE_STEP[unit]) {
        if (this.#isStopping) return;
        const some = startsMs.slice(done, done + LATE_STEP[unit]);
        await this.#sumUp({ projectId, unit, startsMs: some, flushed });
        metrics.late[unit].add(some.length);
      }
    }
    const count = late.reduce((sum, { startsMs }) => sum + startsMs.length, 0);
    if (count < LATE_MAX[unit]) this.#marksSeenMs[unit] = nowMs;
  }

  async #sumUp(sums: Omit<SumUp, 'block' | 'nowMs'>): Promise<void> {
    const nowMs = this.#options.clock.nowMs();
    await sumUp(this.#options.store, { ...sums, block: this.#nextBlock(nowMs), nowMs });
  }

  #nextBlock(nowMs: number): number {
    this.#blockMs = Math.max(this.#blockMs + 1, nowMs);
    return this.#blockMs * BLOCKS_PER_MS + this.#salt;
  }

  /** Numbers rise from one process to the next, also if its clock is behind. */
  async #skipBlocks(): Promise<void> {
    const tables = SUM_UNITS.map((unit) => `SELECT max(block) AS block FROM ${UNITS[unit].announced}`);
    const rows = await this.#options.store.query<{ block: number }>(tables.join(' UNION ALL '));
    const lastMs = Math.max(...rows.map(({ block }) => Math.floor(block / BLOCKS_PER_MS)));
    this.#blockMs = Math.max(this.#blockMs, lastMs);
  }
}
