import { Notify } from '../../infra/concurrency/notify.ts';
import type { BackedLane } from '../backups.ts';

/** How long a lane stands still for a command that says nothing more, counted anew from each step. */
const HOLD_MAX_MS = 15_000;

/** What can stand still: the entities of a lane, or its events. */
export interface Standing {
  readonly isStopping: boolean;
  /** Resolves after `ms`, or when it stops. */
  sleep(ms: number): Promise<void>;
}

/** The lane that stands still. */
export interface HeldLane {
  /** Runs `work` while the store has every entity as the lane knows it, and nothing more is applied. */
  entitiesAtRest<Result>(work: (entities: Standing) => Promise<Result>): Promise<Result>;
  /** Runs `work` while the store has all events that the bus had, and no other flush begins. */
  eventsAtRest<Result>(work: (events: Standing, at: BackedLane) => Promise<Result>): Promise<Result>;
  /** Asks the bus whether the lane is still ours; rejects if it is not. */
  confirm(): Promise<void>;
}

/**
 * Lets one lane of several stand still for the instant of a backup, in steps that `npm run admin` asks of all lanes:
 *
 *     rest: entities ──▶ hold: events, too ──▶ (tables are kept) ──▶ release: did both stand all the time?
 *
 * It ends by itself when the lane stops, is asked for another backup, or hears nothing for a while; `release` says so then.
 */
export class LaneHold {
  readonly #lane: HeldLane;
  readonly #maxMs: number;
  #hold: Hold | undefined;

  constructor(lane: HeldLane, maxMs = HOLD_MAX_MS) {
    this.#lane = lane;
    this.#maxMs = maxMs;
  }

  /**
   * Lets entities rest; ends any hold of before.
   * @throws {Error} when the lane is behind or stops before
   */
  async rest(backupId: string): Promise<void> {
    this.#hold?.end();
    const hold = new Hold(backupId, this.#maxMs);
    this.#hold = hold;
    await hold.stand<void>((stand) => this.#lane.entitiesAtRest((entities) => stand(entities, undefined)));
  }

  /**
   * Flushes what the bus has, and holds the next flush; undefined unless entities rest for this backup.
   * @throws {Error} when the lane is behind or stops before
   */
  async hold(backupId: string): Promise<BackedLane | undefined> {
    const hold = this.#ofBackup(backupId);
    return hold?.stand<BackedLane>((stand) => this.#lane.eventsAtRest(stand));
  }

  /** Whether entities and events stand still for this backup. */
  isHeld(backupId: string): boolean {
    return this.#ofBackup(backupId)?.isWhole ?? false;
  }

  /** Lets the lane go on; says whether it was ours and stood still until now. */
  async release(backupId: string): Promise<boolean> {
    const hold = this.#ofBackup(backupId);
    if (hold === undefined) return false;
    this.#hold = undefined;
    try {
      // A process that was paused for longer than its lease has not noticed yet that another one flushes.
      await this.#lane.confirm();
    } catch {
      hold.end();
      return false;
    }
    return hold.release();
  }

  #ofBackup(backupId: string): Hold | undefined {
    return this.#hold?.backupId === backupId && !this.#hold.isOver ? this.#hold : undefined;
  }
}

/** Whether what stood still did so until it was released. */
type Lasted = Promise<boolean>;

class Hold {
  readonly backupId: string;
  readonly #maxMs: number;
  /** As `performance.now()` tells the time. */
  #untilMs: number;
  readonly #change = new Notify();
  readonly #standing: Lasted[] = [];
  #begun = 0;
  #isOver = false;
  #isReleased = false;

  constructor(backupId: string, maxMs: number) {
    this.backupId = backupId;
    this.#maxMs = maxMs;
    this.#untilMs = performance.now() + maxMs;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether both stand, entities and events. */
  get isWhole(): boolean {
    return this.#begun === 2 && !this.#isOver;
  }

  /** Resolves with the state in which it stands still, once it does. */
  stand<State>(during: (work: (standing: Standing, state: State) => Lasted) => Lasted): Promise<State> {
    return new Promise((begin, fail) => {
      const lasted = during((standing, state) => {
        this.#begun += 1;
        this.#untilMs = performance.now() + this.#maxMs;
        begin(state);
        return this.#wait(standing);
      });
      lasted.catch(fail);
      this.#standing.push(lasted.catch(() => false));
    });
  }

  end(): void {
    this.#isOver = true;
    this.#change.end();
  }

  /** Whether both stood until now. */
  async release(): Promise<boolean> {
    this.#isReleased = this.isWhole;
    this.end();
    return (await Promise.all(this.#standing)).every((hasLasted) => hasLasted);
  }

  async #wait(standing: Standing): Lasted {
    while (!this.#isOver && !standing.isStopping) {
      const restMs = this.#untilMs - performance.now();
      if (restMs <= 0) break;
      await Promise.race([this.#change.sleep(restMs), standing.sleep(restMs)]);
    }
    this.end();
    return this.#isReleased && !standing.isStopping;
  }
}
