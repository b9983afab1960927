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
 * How long an answer is waited for. While lanes rest and are held, entities of all wait, also for one that has died. To take an instant needs a flush, and is begun anew by a second request; while rows are adopted
 * nobody answers, and a second request learns how that ended.
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

  /** How many lanes there are now. */
  async layout(): Promise<LaneLayout> {
    const stored = await storedLayout(await openLayouts(this.#bus));
    return stored?.layout ?? ServiceLanes.fixed(1).layout;
  }

  /**
   * Asks the owner of a lane until there is an answer of this kind; throws an error for an operator when it is refused, or nobody
   * answers.
   */
  ask<Kind extends Met>(request: NewBackupRequest, kind: Kind, lane = FIRST_LANE): Promise<AnswerOf<Kind>> {
    const ask = async () => this.once(request, kind, { lane, layout: await this.layout() });
    return this.untilDone(ask, () => 'the processor does not answer');
  }

  /** Repeats `work` until it has a result, for two minutes; then throws an error for an operator that begins with what `problem` says. */
  async untilDone<Result>(work: () => Promise<Result | undefined>, problem: () => string): Promise<Result> {
    const endMs = performance.now() + this.#triesMaxMs;
    for (;;) {
      const result = await work();
      if (result !== undefined) return result;
      if (performance.now() > endMs)
        throw new Error(`${problem()}; check that the service runs, then repeat the command`);
      await sleep(TRY_EVERY_MS);
    }
  }

  /** Asks the owner of a lane once; undefined without an answer of this kind. Throws an error for an operator when it is refused. */
  async once<Kind extends Met>(
    request: NewBackupRequest,
    kind: Kind,
    { lane, layout }: { readonly lane: number; readonly layout: LaneLayout },
  ): Promise<AnswerOf<Kind> | undefined> {
    const subject = backupSubjectOf(laneNameOf(lane, layout));
    let answer: BackupAnswer;
    try {
      const bytes = await this.#bus.ask(subject, encodeBackupRequest(request), ANSWER_MAX_MS[request.kind]);
      answer = decodeBackupAnswer(bytes);
    } catch (error) {
      if (error instanceof BusError && error.retryable) return undefined;
      throw error;
    }
    if (answer.kind === 'refused') throw new Error(answer.text);
    return isOfKind(answer, kind) ? answer : undefined;
  }
}

function isOfKind<Kind extends Met>(answer: BackupAnswer, kind: Kind): answer is AnswerOf<Kind> {
  return answer.kind === kind;
}
