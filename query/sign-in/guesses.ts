import { FailedLogins, type FailureLimit } from '../../infra/accounts/failed-logins.ts';
import type { QueuedSender } from '../../infra/accounts/verify-queue.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Allowance } from '../../infra/http/limit-headers.ts';

/** Wrong passphrases of one address. People need a few attempts, and only guessing needs more. */
export const GUESSES: FailureLimit = { failuresMax: 20, windowMs: 300_000 };
/** Slow hashes of one address, right and wrong: a thread does some 3,000 in this time, and a /48 may use a third of them. */
export const HASHES: FailureLimit = { failuresMax: 100, windowMs: GUESSES.windowMs };

/**
 * Counts the passphrases that senders try, and the hashes that these take: of strangers by address and its wider networks, of known
 * browsers by user. Nothing is counted for a user or link by what strangers do, or they could shut people out.
 */
export class Guesses {
  readonly #strangers: Counts;
  readonly #known: Counts;

  constructor(clock: Clock) {
    const byId = (id: string) => [{ name: id, times: 1 }];
    this.#strangers = {
      guesses: new FailedLogins(clock, GUESSES),
      hashes: new FailedLogins(clock, HASHES),
    };
    this.#known = {
      guesses: new FailedLogins(clock, GUESSES, byId),
      hashes: new FailedLogins(clock, HASHES, byId),
    };
  }

  /** The sender as it counts now: a known one whose attempts are used up is a stranger. */
  senderOf(address: string, known: string | undefined): QueuedSender {
    if (known === undefined) return { address };
    const { guesses, hashes } = this.#known;
    return guesses.isExhausted(known) || hashes.isExhausted(known) ? { address } : { address, known };
  }

  /** Counts an attempt as wrong before any work is done for it. */
  begin(sender: QueuedSender): Allowance {
    return this.#of(sender).guesses.count(keyOf(sender));
  }

  /** The attempt was right, or was not judged. */
  takeBack(sender: QueuedSender): void {
    this.#of(sender).guesses.takeBack(keyOf(sender));
  }

  /** Counts a hash that is about to be asked for. */
  takeHash(sender: QueuedSender): Allowance {
    return this.#of(sender).hashes.count(keyOf(sender));
  }

  /** The hash was not made. */
  returnHash(sender: QueuedSender): void {
    this.#of(sender).hashes.takeBack(keyOf(sender));
  }

  /** Forgets expired counts. A timer calls it. */
  sweep(): void {
    for (const { guesses, hashes } of [this.#strangers, this.#known]) {
      guesses.evictExpired();
      hashes.evictExpired();
    }
  }

  #of({ known }: QueuedSender): Counts {
    return known === undefined ? this.#strangers : this.#known;
  }
}

interface Counts {
  readonly guesses: FailedLogins;
  readonly hashes: FailedLogins;
}

function keyOf({ address, known }: QueuedSender): string {
  return known ?? address;
}
