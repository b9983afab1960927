import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../../../../infra/bus/bus.ts';
import { BusError } from '../../../../infra/bus/bus-error.ts';
import { openLayouts, storedLayout } from '../../../../infra/process/agreed-lanes.ts';
import { laneNameOf, ServiceLanes } from '../../../../infra/process/service-lanes.ts';
import {
  type BackupAnswer,
  backupSubjectOf,
  decodeBackupAnswer,
  encodeBackupRequest,
  type NewBackupRequest,
} from '../../../../processor/backups.ts';

/**
 * Until a request is sent again. To take an instant needs a flush, and is begun anew by a second request; while rows are adopted
 * nobody answers, and a second request learns how that ended.
 */
const TRY_MAX_MS = { take: 90_000, drop: 30_000, prepare: 30_000, adopt: 2_000, settle: 5_000 } as const;
const TRIES_MAX_MS = 120_000;
const TRY_EVERY_MS = 500;
/** With several lanes, it says why it refuses. */
const LANE = 0;

type AnswerOf<Kind extends BackupAnswer['kind']> = Extract<BackupAnswer, { readonly kind: Kind }>;

/** The processor that owns the lane, as a backup and a restore ask it. */
export class LaneOwner {
  readonly #bus: Bus;
  readonly #triesMaxMs: number;

  constructor(bus: Bus, triesMaxMs = TRIES_MAX_MS) {
    this.#bus = bus;
    this.#triesMaxMs = triesMaxMs;
  }

  /** Asks until there is an answer of this kind; throws an error for an operator when it is refused, or nobody answers. */
  async ask<Kind extends 'taken' | 'prepared' | 'done'>(
    request: NewBackupRequest,
    kind: Kind,
  ): Promise<AnswerOf<Kind>> {
    const endMs = performance.now() + this.#triesMaxMs;
    for (;;) {
      const answer = await this.#tried(request);
      if (answer?.kind === 'refused') throw new Error(answer.text);
      if (isOfKind(answer, kind)) return answer;
      if (performance.now() > endMs)
        throw new Error(
          'the processor does not answer; check that the service runs, then repeat the command',
        );
      await sleep(TRY_EVERY_MS);
    }
  }

  async #tried(request: NewBackupRequest): Promise<BackupAnswer | undefined> {
    try {
      const { layout = ServiceLanes.fixed(1).layout } =
        (await storedLayout(await openLayouts(this.#bus))) ?? {};
      const bytes = await this.#bus.ask(
        backupSubjectOf(laneNameOf(LANE, layout)),
        encodeBackupRequest(request),
        TRY_MAX_MS[request.kind],
      );
      return decodeBackupAnswer(bytes);
    } catch (error) {
      if (error instanceof BusError && error.retryable) return undefined;
      throw error;
    }
  }
}

function isOfKind<Kind extends BackupAnswer['kind']>(
  answer: BackupAnswer | undefined,
  kind: Kind,
): answer is AnswerOf<Kind> {
  return answer?.kind === kind;
}
