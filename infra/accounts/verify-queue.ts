import { limitedNetwork } from '../network/client-address.ts';

/** The most that wait, in all and from one address. */
export interface VerifyQueueLimits {
  readonly waitingMax: number;
  readonly waitingOfAddressMax: number;
}

/** Runs slow hashes one at a time, so that a flood of wrong secrets occupies one thread of the pool. */
export class VerifyQueue {
  readonly #limits: VerifyQueueLimits;
  /** How many of an address wait, by its network. */
  readonly #waitingOf = new Map<string, number>();
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(limits: VerifyQueueLimits) {
    this.#limits = limits;
  }

  /** Runs `work` when its turn comes; `busy` when too many wait. `address` is the sender's, in its normal form. */
  run<Result>(address: string, work: () => Promise<Result>): 'busy' | Promise<Result> {
    const { waitingMax, waitingOfAddressMax } = this.#limits;
    const network = limitedNetwork(address);
    const ofAddress = this.#waitingOf.get(network) ?? 0;
    if (this.#waiting >= waitingMax || ofAddress >= waitingOfAddressMax) return 'busy';
    this.#waiting += 1;
    this.#waitingOf.set(network, ofAddress + 1);
    const result = this.#last.then(work).finally(() => this.#leave(network));
    this.#last = result.catch(() => undefined);
    return result;
  }

  #leave(network: string): void {
    this.#waiting -= 1;
    const ofAddress = (this.#waitingOf.get(network) ?? 1) - 1;
    if (ofAddress === 0) this.#waitingOf.delete(network);
    else this.#waitingOf.set(network, ofAddress);
  }
}
