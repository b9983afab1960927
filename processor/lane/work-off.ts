import {
  decodeEntityCheckpoint,
  type EntityCheckpoint,
  FIRST_ENTITY_CHECKPOINT,
} from '../entities/entity-checkpoint.ts';
import type { EntityDeps } from '../entities/entity-flush.ts';
import { EntityLane } from '../entities/entity-lane.ts';
import { Lane, type LaneOptions } from './lane.ts';

const CATCH_UP_MAX_MS = 600_000;

interface Stoppable {
  stop(): Promise<void>;
}

/**
 * Works streams off: afterwards all of their messages are in the store. Each step can be repeated after a crash, and ends early when this
 * is stopped.
 */
export class WorkOff {
  #current: Stoppable | undefined;
  #stopping = false;

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Ends the work in progress: its caller gets an answer soon. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#current?.stop();
  }

  /**
   * Entity updates, up to the last that the stream has now. Returns their checkpoint.
   * @throws {Error} when the store does not have all of them in the end
   */
  async entities(options: EntityDeps): Promise<EntityCheckpoint> {
    const { bus, stream, records, checkpointKey } = options;
    const lane = new EntityLane(options);
    await this.#finish(lane, lane.run());
    const stored = await records.get(checkpointKey);
    const checkpoint =
      stored?.bytes === undefined ? FIRST_ENTITY_CHECKPOINT : decodeEntityCheckpoint(stored.bytes);
    await this.#checkIsStored(bus, stream, checkpoint.sequence);
    return checkpoint;
  }

  /**
   * Events, up to the last that the stream has now.
   * @throws {Error} when the store does not have all of them in the end
   */
  async events(options: LaneOptions): Promise<void> {
    const { bus, stream, ownership } = options;
    const lane = new Lane(options);
    try {
      await lane.restore();
      await this.#finish(lane, lane.run());
    } finally {
      await lane.close();
    }
    await this.#checkIsStored(bus, stream, ownership.checkpoint.sequence);
  }

  /** Lets a lane work off its stream and stops it. */
  async #finish(
    lane: Stoppable & { catchUp(maxMs: number): Promise<boolean> },
    running: Promise<void>,
  ): Promise<void> {
    this.#current = lane;
    // Why it did not catch up, `running` or the check of its stream says.
    const caughtUp = lane.catchUp(CATCH_UP_MAX_MS).catch(() => false);
    await Promise.race([running, caughtUp]);
    await lane.stop();
    await running;
    this.#current = undefined;
  }

  /** A stream may have messages that are in the store: a crash came before they were trimmed. */
  async #checkIsStored(bus: LaneOptions['bus'], stream: string, reached: number): Promise<void> {
    if (this.#stopping) return;
    const { last } = await bus.streamBounds(stream);
    if (reached < last) throw new Error(`stream ${stream} could not be brought to the store`);
  }
}
