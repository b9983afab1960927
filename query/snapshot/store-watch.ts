import type { Clock } from '../../infra/clock.ts';
import type { Dependency } from '../../infra/process/host.ts';
import type { Store } from '../../infra/store/store.ts';

const INTERVAL_MS = 1_000;
/** Whoever is not there says so sooner. */
const SLOW_MS = 1_000;
/** A store that has all hands full with one question may miss its turn to answer, and is there nevertheless. */
const SLOW_MAX = 2;

/**
 * Knows whether the store can be reached, and since when, by asking it once a second. A store that refuses is away at
 * once; one that says nothing is away when it did so twice in a row.
 */
export class StoreWatch {
  readonly #store: Pick<Store, 'ping'>;
  readonly #clock: Clock;
  readonly #timer: NodeJS.Timeout;
  #asking = false;
  #slow = 0;
  #dependency: Dependency;

  private constructor(store: Pick<Store, 'ping'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#dependency = { name: 'store', up: false, since: clock.nowMs() };
    this.#timer = setInterval(() => void this.#ask(), INTERVAL_MS); // `ask` never rejects.
    this.#timer.unref();
  }

  /** Resolves when the store was asked once. */
  static async start(store: Pick<Store, 'ping'>, clock: Clock): Promise<StoreWatch> {
    const watch = new StoreWatch(store, clock);
    await watch.#ask();
    return watch;
  }

  get dependency(): Dependency {
    return this.#dependency;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    const startedAt = performance.now();
    // An error is an answer too: the store is not there.
    const answered = await this.#store.ping().catch(() => false);
    const isSlow = !answered && performance.now() - startedAt >= SLOW_MS;
    this.#slow = isSlow ? this.#slow + 1 : 0;
    const up = answered || (isSlow && this.#slow < SLOW_MAX && this.#dependency.up);
    this.#asking = false;
    if (up !== this.#dependency.up) this.#dependency = { name: 'store', up, since: this.#clock.nowMs() };
  }
}
