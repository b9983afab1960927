import { type CountedNetwork, countedNetworks } from '../network/counted-networks.ts';
import { type QueuedWork, WaitingTurns } from './waiting-turns.ts';

/**
 * Maximum number of waiting hashes for each kind of sender, in all and from one address. Wider networks may have a
 * multiple, up to half of all.
 */
export interface VerifyQueueLimits {
  readonly waitingMax: number;
  readonly waitingOfAddressMax: number;
}

/** A sender that waits for a hash. */
export interface QueuedSender {
  /** The proven address, in its normal form. */
  readonly address: string;
  /** An id that the sender has proven before; undefined for strangers. */
  readonly known?: string | undefined;
}

/** Turns of known senders before a stranger has one, so that a known sender cannot shut strangers out. */
const KNOWN_IN_A_ROW_MAX = 4;

/**
 * Runs slow hashes one at a time, so that a flood of wrong secrets occupies one thread of the pool.
 *
 *     known senders, by id ───────────▶ 4 turns ─┐
 *                                                ├─▶ one hash
 *     strangers, by widest network ───▶ 1 turn ──┘
 *
 * Within a kind, ids and networks take turns. In a full kind, a sender with few waiting hashes pushes out the newest of
 * the network with the most.
 */
export class VerifyQueue {
  readonly #limits: VerifyQueueLimits;
  readonly #known: WaitingTurns;
  readonly #strangers: WaitingTurns;
  #knownInARow = 0;
  #isRunning = false;

  constructor(limits: VerifyQueueLimits) {
    this.#limits = limits;
    this.#known = new WaitingTurns(limits.waitingMax);
    this.#strangers = new WaitingTurns(limits.waitingMax);
  }

  /** Runs `work` when its turn comes; `busy` when too many wait, also later if others push it out. */
  run<Result>(
    { address, known }: QueuedSender,
    work: () => Promise<Result>,
  ): 'busy' | Promise<'busy' | Result> {
    const turns = known === undefined ? this.#strangers : this.#known;
    const networks = known === undefined ? countedNetworks(address) : [{ name: known, times: 1 }];
    const places = networks.map((network) => ({ name: network.name, max: this.#maxOf(network) }));
    if (!turns.makeRoom(places)) return 'busy';
    return new Promise((resolve, reject) => {
      const run = async (): Promise<void> => {
        try {
          resolve(await work());
        } catch (error) {
          reject(error);
        }
      };
      turns.add({ names: places.map(({ name }) => name), run, pushOut: () => resolve('busy') });
      // Never rejects: `run` passes every error on.
      void this.#runAll();
    });
  }

  #maxOf({ times }: CountedNetwork): number {
    const { waitingMax, waitingOfAddressMax } = this.#limits;
    return times === 1 ? waitingOfAddressMax : Math.min(times * waitingOfAddressMax, waitingMax / 2);
  }

  async #runAll(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let taken = this.#takeNext(); taken !== undefined; taken = this.#takeNext()) {
      await taken.work.run();
      taken.turns.leave(taken.work);
    }
    this.#isRunning = false;
  }

  #takeNext(): { readonly work: QueuedWork; readonly turns: WaitingTurns } | undefined {
    const strangersFirst = this.#knownInARow >= KNOWN_IN_A_ROW_MAX;
    const order = strangersFirst ? [this.#strangers, this.#known] : [this.#known, this.#strangers];
    for (const turns of order) {
      const work = turns.takeNext();
      if (work === undefined) continue;
      this.#knownInARow = turns === this.#known ? this.#knownInARow + 1 : 0;
      return { work, turns };
    }
    return undefined;
  }
}
