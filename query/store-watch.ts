import type { Clock } from '../infra/clock.ts';
import type { Dependency } from '../infra/host.ts';
import type { Store } from '../infra/store.ts';

const INTERVAL_MS = 1_000;

/** Knows whether the store can be reached, and since when, by asking it once a second. */
export class StoreWatch {
  readonly #store: Pick<Store, 'ping'>;
  readonly #clock: Clock;
  readonly #timer: NodeJS.Timeout;
  #asking = false;
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
    // An error is an answer too: the store is not there.
    const up = await this.#store.ping().catch(() => false);
    this.#asking = false;
    if (up !== this.#dependency.up) this.#dependency = { name: 'store', up, since: this.#clock.nowMs() };
  }
}
