import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { type Adoption, finishRestore, type LaneBackupsOptions, notEmpty } from '../backups/lane-backups.ts';
import { FIRST_LANE, type NewBackupAnswer } from '../backups.ts';
import { JointRestore } from './joint-restore.ts';
import type { BegunRestore, GrownLane } from './lane-record.ts';
import type { Ownership } from './ownership.ts';

/** Time that a stopped lane waits for the others before it continues without the rows. */
const JOIN_MAX_MS = 30_000;
const LOOK_EVERY_MS = 100;

export interface AdoptionsOptions extends LaneBackupsOptions {
  readonly layout: { readonly lanes: number };
  /** The bucket of the lanes. */
  readonly records: KeyedBytes;
  /** Runs `work` while nothing is rolled up. */
  readonly withoutRollups: (work: () => Promise<void>) => Promise<void>;
  /** Resolves after `ms`, or when the lane's supervisor stops. */
  readonly sleep: (ms: number) => Promise<void>;
  readonly isStopping: () => boolean;
}

/** A restore that waits for the lane to stop. */
interface WaitingAdoption {
  readonly adoption: Adoption;
  readonly answer: (answer: NewBackupAnswer) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Puts the rows of a backup under a lane, between two runs of it. Once the lane's record names a restore, every owner comes here before it does
 * anything else to the lane.
 */
export class Adoptions {
  readonly #options: AdoptionsOptions;
  #waiting: WaitingAdoption | undefined;

  constructor(options: AdoptionsOptions) {
    this.#options = options;
  }

  /** Asks for an adoption, which begins when the lane has stopped; `stop` stops it. */
  ask(adoption: Adoption, stop: () => void): Promise<NewBackupAnswer> {
    return new Promise((answer, fail) => {
      if (this.#waiting !== undefined || this.#options.isStopping()) return answer({ kind: 'unavailable' });
      this.#waiting = { adoption, answer, fail };
      return stop();
    });
  }

  /** The lane has stopped with an error, or its supervisor stops: there is no adoption. */
  drop(error?: unknown): void {
    const waiting = this.#take();
    if (error === undefined) waiting?.answer({ kind: 'unavailable' });
    else waiting?.fail(error);
  }

  /** Carries out the adoption requested while the lane ran; false if there was none. */
  async begin(ownership: Ownership): Promise<boolean> {
    const waiting = this.#take();
    if (waiting === undefined) return false;
    const { adoption, answer, fail } = waiting;
    try {
      const { stores, layout } = this.#options;
      const refused = await notEmpty(stores, ownership.checkpoint.flushNumber);
      if (refused === undefined) {
        const { attempt, backupId, lane } = adoption;
        const lanes = layout.lanes === 1 ? undefined : layout.lanes;
        await ownership.beginRestore({ attempt, backupId, ...lane, lanes });
        await this.finish(ownership);
      }
      answer(refused ?? outcomeOf(ownership, adoption));
    } catch (error) {
      fail(error);
      throw error;
    }
    return true;
  }

  /** Finishes a restore that was begun, by this owner or by one before it. */
  async finish(ownership: Ownership): Promise<void> {
    const { restore } = ownership;
    if (restore === undefined) return;
    if (restore.lanes === undefined) await this.#switch(restore, () => this.#complete(ownership, restore));
    else await this.#finishTogether(ownership, restore, restore.lanes);
  }

  #take(): WaitingAdoption | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }

  /** Returns early when the supervisor stops: the next owner continues. */
  async #finishTogether(ownership: Ownership, restore: BegunRestore, lanes: number): Promise<void> {
    const { lane, records, log, sleep, isStopping } = this.#options;
    const { attempt, backupId } = restore;
    const joint = new JointRestore(records, { attempt, lanes });
    const endMs = performance.now() + JOIN_MAX_MS;
    while (!isStopping()) {
      const isLate = performance.now() > endMs;
      const decision = await (isLate
        ? joint.decline()
        : lane === FIRST_LANE
          ? joint.begin()
          : joint.decided());
      if (decision === 'complete') return this.#complete(ownership, restore);
      if (decision === 'declined') {
        log.warn({ lane, backupId }, 'not all lanes were there to take over the rows of a backup');
        return ownership.giveUpRestore();
      }
      if (decision === 'begun' && lane === FIRST_LANE)
        return this.#switch(restore, async () => {
          await joint.complete();
          await this.#complete(ownership, restore);
        });
      await sleep(LOOK_EVERY_MS);
    }
  }

  #switch(restore: BegunRestore, complete: () => Promise<void>): Promise<void> {
    return this.#options.withoutRollups(() => finishRestore(this.#options, restore, complete));
  }

  /** Earlier messages on the bus are folded and had no rows; the lane continues after them. */
  #complete(ownership: Ownership, restore: BegunRestore): Promise<void> {
    const { checkpoint } = ownership;
    const { backupId, flushNumber, clockMs } = restore;
    const grown = this.#grownWith(ownership.grown, restore);
    return ownership.completeRestore({ ...checkpoint, flushNumber, clockMs }, { backupId, grown });
  }

  /** In a service that has grown, rows of its first lanes are taken up by those that have their devices now. */
  #grownWith(grown: GrownLane | undefined, { before, flushNumber }: BegunRestore): GrownLane | undefined {
    if (grown === undefined) return undefined;
    return { lanes: grown.lanes, before: before ?? [[this.#options.lane, flushNumber]] };
  }
}

function outcomeOf({ restored, restore }: Ownership, { backupId }: Adoption): NewBackupAnswer {
  if (restored === backupId) return { kind: 'done' };
  if (restore !== undefined) return { kind: 'unavailable' };
  return {
    kind: 'refused',
    text: 'not all lanes of the service were there to take over the rows; nothing was changed; check its processors, then repeat the command',
  };
}
