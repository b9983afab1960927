import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../../../../infra/bus/bus.ts';
import { BusError } from '../../../../infra/bus/bus-error.ts';
import { openLayouts, storedLayout } from '../../../../infra/process/agreed-lanes.ts';
import { type LaneLayout, laneNameOf, ServiceLanes } from '../../../../infra/process/service-lanes.ts';
import {
  type BackupAnswer,
  backupSubjectOf,
  decodeBackupAnswer,
  encodeBackupRequest,
  FIRST_LANE,
  type NewBackupRequest,
} from '../../../../processor/backups.ts';

/**
 * Maximum wait for an answer. `take` waits for a flush, and a second request starts it again. `rest` and `hold` delay the updates
 * of all lanes, so they do not wait long for a lane whose owner has died. While a lane adopts rows it answers nothing; a second
 * `adopt` returns how the first one ended.
 */
const ANSWER_MAX_MS = {
  take: 90_000,
  open: 30_000,
  rest: 10_000,
  hold: 6_000,
  keep: 10_000,
  release: 5_000,
  drop: 30_000,
  prepare: 30_000,
  adopt: 2_000,
  settle: 5_000,
} as const satisfies Record<NewBackupRequest['kind'], number>;
const TRIES_MAX_MS = 120_000;
const TRY_EVERY_MS = 500;

/** The answer of a kind. */
export type AnswerOf<Kind extends BackupAnswer['kind']> = Extract<BackupAnswer, { readonly kind: Kind }>;
/** Answers that say that a request was met. */
export type Met = Exclude<BackupAnswer['kind'], 'refused' | 'unavailable'>;

/** The processors that own the lanes, as a backup and a restore ask them. */
export class LaneOwners {
  readonly #bus: Bus;
  readonly #triesMaxMs: number;

  constructor(bus: Bus, triesMaxMs = TRIES_MAX_MS) {
    this.#bus = bus;
    this.#triesMaxMs = triesMaxMs;
  }

  /** The present number of lanes. */
  async layout(): Promise<LaneLayout> {
    const stored = await storedLayout(await openLayouts(this.#bus));
    return stored?.layout ?? ServiceLanes.fixed(1).layout;
  }

  /**
   * Asks the owner of a lane until it gives an answer of this kind. Throws an error for an operator when it refuses, or when no owner
   * answers.
   */
  ask<Kind extends Met>(request: NewBackupRequest, kind: Kind, lane = FIRST_LANE): Promise<AnswerOf<Kind>> {
    const ask = async () => this.once(request, kind, { lane, layout: await this.layout() });
    return this.untilDone(ask, () => 'the processor does not answer');
  }

  /**
   * Repeats `work` until it has a result, for two minutes, also while the bus is unavailable; then throws an error for an
   * operator that begins with `problem`.
   */
  async untilDone<Result>(work: () => Promise<Result | undefined>, problem: () => string): Promise<Result> {
    const endMs = performance.now() + this.#triesMaxMs;
    for (;;) {
      const result = await work().catch(undefinedForNow);
      if (result !== undefined) return result;
      if (performance.now() > endMs)
        throw new Error(`${problem()}; check that the service runs, then repeat the command`);
      await sleep(TRY_EVERY_MS);
    }
  }

  /** Asks the owner of a lane once; undefined without an answer of this kind. Throws an error for an operator when the owner refuses. */
  async once<Kind extends Met>(
    request: NewBackupRequest,
    kind: Kind,
    { lane, layout }: { readonly lane: number; readonly layout: LaneLayout },
  ): Promise<AnswerOf<Kind> | undefined> {
    const subject = backupSubjectOf(laneNameOf(lane, layout));
    const bytes = await this.#bus
      .ask(subject, encodeBackupRequest(request), ANSWER_MAX_MS[request.kind])
      .catch(undefinedForNow);
    if (bytes === undefined) return undefined;
    const answer = decodeBackupAnswer(bytes);
    if (answer.kind === 'refused') throw new Error(answer.text);
    return isOfKind(answer, kind) ? answer : undefined;
  }
}

/** For an error of the bus that passes; others are thrown. */
function undefinedForNow(error: unknown): undefined {
  if (!(error instanceof BusError && error.retryable)) throw error;
}

function isOfKind<Kind extends Met>(answer: BackupAnswer, kind: Kind): answer is AnswerOf<Kind> {
  return answer.kind === kind;
}
