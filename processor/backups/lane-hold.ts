import { Notify } from '../../infra/concurrency/notify.ts';
import type { BackedLane } from '../backups.ts';

/** A lane stays held for this long without another step of the command; each step restarts the time. */
const HOLD_MAX_MS = 15_000;

/** The part of a lane that is held: its entities, or its events. */
export interface Standing {
  readonly isStopping: boolean;
  /** Resolves after `ms`, or when it stops. */
  sleep(ms: number): Promise<void>;
}

/** The lane to be held. */
export interface HeldLane {
  /** Runs `work` while the store has every entity as the lane knows it, and nothing more is applied. */
  entitiesAtRest<Result>(work: (entities: Standing) => Promise<Result>): Promise<Result>;
  /** Runs `work` while the store has all events that the bus had, and no other flush begins. */
  eventsAtRest<Result>(work: (events: Standing, at: BackedLane) => Promise<Result>): Promise<Result>;
  /** Asks the bus whether the lane is still ours; rejects if it is not. */
  confirm(): Promise<void>;
}

/**
 * Holds one of several lanes for the instant of a backup, in steps that `npm run admin` asks of all lanes:
 *
 *     rest: entities ──▶ hold: events, too ──▶ (tables are kept) ──▶ release: were both held all the time?
 *
 * The hold ends by itself when the lane stops, is asked for another backup, or hears nothing for a while; `release` then returns false.
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
   * Flushes everything on the bus, and holds the next flush; undefined unless entities rest for this backup.
   * @throws {Error} when the lane is behind or stops before
   */
  async hold(backupId: string): Promise<BackedLane | undefined> {
    const hold = this.#ofBackup(backupId);
    return hold?.stand<BackedLane>((stand) => this.#lane.eventsAtRest(stand));
  }

  /** True if entities and events are held for this backup. */
  isHeld(backupId: string): boolean {
    return this.#ofBackup(backupId)?.isWhole ?? false;
  }

  /** Lets the lane continue; true if it was ours and held until now. */
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

/** True if the hold lasted until its release. */
type Lasted = Promise<boolean>;

class Hold {
  readonly backupId: string;
  readonly #maxMs: number;
  /** On the clock of `performance.now()`. */
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

  /** True if both are held, entities and events. */
  get isWhole(): boolean {
    return this.#begun === 2 && !this.#isOver;
  }

  /** Resolves with the state at which the lane is held, once it is. */
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

  /** Ends the hold; true if both were held until now. */
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
