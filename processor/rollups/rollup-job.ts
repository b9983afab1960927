import { randomInt } from 'node:crypto';
import type { StoredId } from '../../infra/accounts/ids.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import type { Store } from '../../infra/store/store.ts';
import { finalizedBeforeMs } from '../fold/finalized.ts';
import { laneProgress } from '../lane/lane-progress.ts';
import { type LeaderDeps, LeaderJob } from '../leader-job/leader-job.ts';
import { PassRest, type PassState } from './pass-rest.ts';
import { incompleteDays, lateStarts, unrolledStarts } from './pending.ts';
import { announceInvalidation, type RollupRun, rollUp } from './rollup.ts';
import type { RollupMetrics } from './rollup-metrics.ts';
import { RollupTurns } from './rollup-turns.ts';
import { ROLLUP_UNITS, type RollupUnit, startOfUnit, UNITS } from './units.ts';

/** A statement covers more hours or days while it is quick, as over years of history, and fewer while it is slow. */
const STEP = { quickMs: 1_000, slowMs: 5_000 };
const STEP_MAX: Readonly<Record<RollupUnit, number>> = { hour: 48, day: 16 };
/** Late hours and days of one site in the first statement, in any statement, and of all sites in one pass; the rest comes next. */
const LATE_STEP_FIRST: Readonly<Record<RollupUnit, number>> = { hour: 48, day: 1 };
const LATE_STEP_MAX: Readonly<Record<RollupUnit, number>> = { hour: 2_000, day: 16 };
const LATE_MAX: Readonly<Record<RollupUnit, number>> = { hour: 2_000, day: 400 };
/** A late hour is rolled up again after this many intervals without a further mark, because a visit may last for hours. */
const QUIET_INTERVALS = 5;
/** Largest difference between the clocks of two owners, for marks that are looked for by their time. */
const CLOCKS_APART_MS = 600_000;
const PROGRESS_EVERY_MS = 5_000;
/** Block numbers of a millisecond, half of them odd: below 2⁵³ until the year 2109, so that JSON holds them exactly. */
const BLOCKS_PER_MS = 2_048;
const BACKOFF_FIRST_MS = 1_000;

export interface RollupJobOptions extends LeaderDeps {
  readonly store: Store;
  /** The bucket of lane records. */
  readonly laneRecords: KeyedBytes;
  readonly lanes: number;
  readonly intervalMs: number;
  readonly metrics: RollupMetrics;
}

/**
 * Rolls up hours and days once they are finalized, and again those that changed later. No answer depends on when:
 * a question reads rows wherever there is no valid rollup.
 */
export class RollupJob {
  readonly #options: RollupJobOptions;
  readonly #job: LeaderJob;
  /** Distinguishes the block numbers of two processes in one millisecond. */
  readonly #salt = 2 * randomInt(BLOCKS_PER_MS / 2);
  #blockMs = 0;
  readonly #steps: Record<RollupUnit, number> = { hour: 1, day: 1 };
  readonly #lateSteps: Record<RollupUnit, number> = { ...LATE_STEP_FIRST };
  /** All marks from before this time are known to be rolled up; 0 when that is not known. */
  readonly #marksSeenMs: Record<RollupUnit, number> = { hour: 0, day: 0 };
  /** True if all days are known to be in all tables. */
  #isComplete = false;
  /** An erasure must not run while rollups are made. */
  readonly #turns = new RollupTurns();
  /** True if an erasure came since the pass began. */
  #isDisturbed = false;
  readonly #rest: PassRest;

  constructor(options: RollupJobOptions) {
    this.#options = options;
    const { intervalMs } = options;
    const backoff = { firstMs: Math.min(BACKOFF_FIRST_MS, intervalMs), maxMs: intervalMs };
    this.#rest = new PassRest(intervalMs * QUIET_INTERVALS + CLOCKS_APART_MS);
    this.#job = new LeaderJob({
      ...options,
      name: 'rollup',
      backoff,
      pass: () => this.pass(),
      // Another process may lead now, and leave work.
      standBy: () => this.#rest.disturb(),
    });
  }

  start(): void {
    this.#job.start();
  }

  /** Ends after the statement that runs. */
  stop(): Promise<void> {
    return this.#job.stop();
  }

  /**
   * Rolls up all due hours and days, step by step. Erasures have their turns between two steps: later steps read only the remaining rows.
   */
  async pass(): Promise<void> {
    this.#isDisturbed = false;
    const beganMs = this.#options.clock.nowMs();
    const state = await this.#progress();
    if (this.#rest.isResting(state)) return;
    await this.#turns.step(() => this.#skipBlocks());
    for (const unit of ROLLUP_UNITS) await this.#rollFinalized(unit, await this.#progress());
    for (const unit of ROLLUP_UNITS) await this.#rollLate(unit, await this.#progress());
    if (!this.#isComplete) await this.#completeTables(await this.#progress());
    const isDone = ROLLUP_UNITS.every((unit) => this.#marksSeenMs[unit] > 0);
    if (isDone && !this.#isDisturbed) this.#rest.completed(state, beganMs);
  }

  /**
   * Invalidates the rollups of these hours and days of a site, then runs `work` while no rollup is made: before the next step of a pass that
   * runs. Questions read rows until a later pass rolls up what is left.
   * @param startsMs beginnings of the hours and days, in milliseconds since 1970
   * @param work gets a block number; no rollup of these hours and days with a lower one counts any more
   */
  async withoutRollups(
    projectId: StoredId | '',
    startsMs: Readonly<Record<RollupUnit, readonly number[]>>,
    work: (block: number) => Promise<void>,
  ): Promise<void> {
    await this.#turns.erase(async () => {
      this.#rest.disturb();
      this.#isDisturbed = true;
      await this.#skipBlocks();
      const nowMs = this.#options.clock.nowMs();
      const block = this.#nextBlock(nowMs);
      for (const unit of ROLLUP_UNITS) {
        const starts = startsMs[unit];
        if (starts.length === 0) continue;
        const run = { projectId, unit, startsMs: starts, block, flushed: [], nowMs };
        await announceInvalidation(this.#options.store, run);
      }
      await work(block - 1);
    });
    this.#job.wake();
  }

  async #progress(): Promise<PassState> {
    const { laneRecords, lanes } = this.#options;
    const { flushed, clockMs } = await laneProgress(laneRecords, lanes);
    return { flushed, finalizedMs: finalizedBeforeMs(clockMs) };
  }

  async #rollFinalized(unit: RollupUnit, { flushed, finalizedMs }: PassState): Promise<void> {
    const { store, clock } = this.#options;
    const endMs = startOfUnit(unit, finalizedMs);
    const starts = await unrolledStarts(store, unit, { endMs, nowMs: clock.nowMs() });
    await this.#rollUpAll(unit, starts, flushed);
  }

  /**
   * Rolls up days again that lack rows in one of `ADDED_ROLLUP_TABLES`, since another release rolled them up. It looks for them once: any
   * later one, while processes of both releases run, is read from rows.
   */
  async #completeTables({ flushed }: PassState): Promise<void> {
    const starts = await incompleteDays(this.#options.store);
    if (starts.length > 0) this.#options.log.info({ days: starts.length }, 'rollup: filling new tables');
    await this.#rollUpAll('day', starts, flushed);
    this.#isComplete = true;
  }

  /** Rolls up hours or days for all sites, some in a statement. */
  async #rollUpAll(unit: RollupUnit, starts: readonly number[], flushed: readonly number[]): Promise<void> {
    const { log } = this.#options;
    let loggedMs = performance.now();
    for (let done = 0; done < starts.length; ) {
      this.#job.throwIfOver();
      const startsMs = starts.slice(done, done + this.#steps[unit]);
      const startedAt = performance.now();
      await this.#rollUp({ projectId: undefined, unit, startsMs, flushed });
      this.#steps[unit] = stepAfter(this.#steps[unit], STEP_MAX[unit], performance.now() - startedAt);
      this.#noteStatement(unit, startsMs, performance.now() - startedAt);
      done += startsMs.length;
      if (performance.now() - loggedMs > PROGRESS_EVERY_MS) {
        loggedMs = performance.now();
        const percent = Math.round((done / starts.length) * 100);
        log.info({ unit, percent, left: starts.length - done }, 'rollup: catching up');
      }
    }
  }

  /** Counts a statement that rolled up finalized hours or days. */
  #noteStatement(unit: RollupUnit, startsMs: readonly number[], tookMs: number): void {
    const { metrics } = this.#options;
    metrics.rolledUp[unit].add(startsMs.length);
    metrics.seconds[unit].observe(tookMs / 1000);
    metrics.endSeconds[unit].set(((startsMs.at(-1) ?? 0) + UNITS[unit].ms) / 1000);
  }

  async #rollLate(unit: RollupUnit, { flushed, finalizedMs }: PassState): Promise<void> {
    const { store, clock, metrics, intervalMs } = this.#options;
    const nowMs = clock.nowMs();
    const quietMs = intervalMs * QUIET_INTERVALS;
    const sinceMs = this.#marksSeenMs[unit] - quietMs - CLOCKS_APART_MS;
    // Until everything found is rolled up: a pass that fails makes the next one look at all marks again.
    this.#marksSeenMs[unit] = 0;
    const late = await lateStarts(store, unit, {
      sinceMs,
      quietSinceMs: nowMs - quietMs,
      endMs: startOfUnit(unit, finalizedMs),
      max: LATE_MAX[unit],
    });
    for (const { projectId, startsMs } of late) {
      for (let done = 0; done < startsMs.length; ) {
        this.#job.throwIfOver();
        const some = startsMs.slice(done, done + this.#lateSteps[unit]);
        const startedAt = performance.now();
        await this.#rollUp({ projectId, unit, startsMs: some, flushed });
        const tookMs = performance.now() - startedAt;
        this.#lateSteps[unit] = stepAfter(this.#lateSteps[unit], LATE_STEP_MAX[unit], tookMs);
        metrics.late[unit].add(some.length);
        done += some.length;
      }
    }
    const count = late.reduce((sum, { startsMs }) => sum + startsMs.length, 0);
    if (count < LATE_MAX[unit]) this.#marksSeenMs[unit] = nowMs;
  }

  /** One step of a pass. */
  async #rollUp(run: Omit<RollupRun, 'block' | 'nowMs'>): Promise<void> {
    await this.#turns.step(() => {
      this.#job.throwIfOver();
      const nowMs = this.#options.clock.nowMs();
      return rollUp(this.#options.store, { ...run, block: this.#nextBlock(nowMs), nowMs });
    });
  }

  #nextBlock(nowMs: number): number {
    this.#blockMs = Math.max(this.#blockMs + 1, nowMs);
    return this.#blockMs * BLOCKS_PER_MS + this.#salt;
  }

  /** Block numbers rise from one process to the next, also if its clock is behind. */
  async #skipBlocks(): Promise<void> {
    const tables = ROLLUP_UNITS.map((unit) => `SELECT max(block) AS block FROM ${UNITS[unit].announced}`);
    const rows = await this.#options.store.query<{ block: number }>(tables.join(' UNION ALL '));
    const lastMs = Math.max(...rows.map(({ block }) => Math.floor(block / BLOCKS_PER_MS)));
    this.#blockMs = Math.max(this.#blockMs, lastMs);
  }
}

/** Sizes the next step by the time of the last one. */
function stepAfter(step: number, max: number, tookMs: number): number {
  if (tookMs < STEP.quickMs) return Math.min(max, step * 2);
  return tookMs > STEP.slowMs ? Math.max(1, Math.floor(step / 2)) : step;
}
