import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../../infra/bus/bus.ts';
import { tickMessage } from './tick.ts';

const PUBLISH_TIMEOUT_MS = 2_000;
/** Two barriers of a stream leave at least this far apart. */
const PACE_MS = 10;

export interface BarrierOptions {
  readonly bus: Pick<Bus, 'publish'>;
  /** The subject of the stream. */
  readonly subject: string;
  readonly random: () => number;
}

/**
 * Finds the last sequence of a stream by appending to it: a message without content, stored by a majority of the
 * servers and so after everything confirmed before. Asking costs a write, so callers that ask while one is in flight
 * share the next one.
 */
export class Barrier {
  readonly #bus: Pick<Bus, 'publish'>;
  readonly #subject: string;
  readonly #publisherId: bigint;
  #number = 0;
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<number> | undefined;

  constructor({ bus, subject, random }: BarrierOptions) {
    this.#bus = bus;
    this.#subject = subject;
    this.#publisherId = BigInt(Math.floor(random() * 2 ** 48));
  }

  /**
   * A sequence after everything that the bus had confirmed for the stream when this was called.
   * @throws {BusError}
   */
  append(): Promise<number> {
    this.#next ??= this.#appendNext();
    return this.#next;
  }

  async #appendNext(): Promise<number> {
    // The write in flight may have been stored before the caller asked.
    await this.#running.catch(() => undefined);
    await sleep(PACE_MS);
    this.#next = undefined;
    this.#number += 1;
    // At no time: it moves no clock.
    const head = { publisherId: this.#publisherId, publisherSequence: this.#number, sentAtMs: 0 };
    const appended = this.#bus.publish(this.#subject, tickMessage(head), PUBLISH_TIMEOUT_MS);
    this.#running = appended;
    return appended;
  }
}
