import type { Clock } from '../../infra/clock.ts';
import type { Dependency } from '../../infra/process/dependency.ts';
import type { Store } from '../../infra/store/store.ts';

const INTERVAL_MS = 1_000;
/** A ping that fails sooner was rejected: the store is away. */
const SLOW_MS = 1_000;
/** Slow pings in a row that make a store away: a store that works hard on one statement may miss a single one. */
const SLOW_MAX = 2;

/**
 * Knows whether the store can be reached, and since when, by a ping a second. A store that refuses the connection is away
 * at once; one that is silent is away after two silent pings in a row.
 */
export class StoreWatch {
  readonly #store: Pick<Store, 'ping'>;
  readonly #clock: Clock;
  readonly #timer: NodeJS.Timeout;
  #isPinging = false;
  #slowPings = 0;
  #dependency: Dependency;

  private constructor(store: Pick<Store, 'ping'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#dependency = { name: 'store', setting: 'CLICKHOUSE_URL', up: false, since: clock.nowMs() };
    this.#timer = setInterval(() => void this.#ping(), INTERVAL_MS); // `#ping` never rejects.
    this.#timer.unref();
  }

  /** Resolves after the first ping. */
  static async start(store: Pick<Store, 'ping'>, clock: Clock): Promise<StoreWatch> {
    const watch = new StoreWatch(store, clock);
    await watch.#ping();
    return watch;
  }

  get dependency(): Dependency {
    return this.#dependency;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #ping(): Promise<void> {
    if (this.#isPinging) return;
    this.#isPinging = true;
    const startedAt = performance.now();
    // An error means that the store is away.
    const answered = await this.#store.ping().catch(() => false);
    const isSlow = !answered && performance.now() - startedAt >= SLOW_MS;
    this.#slowPings = isSlow ? this.#slowPings + 1 : 0;
    const up = answered || (isSlow && this.#slowPings < SLOW_MAX && this.#dependency.up);
    this.#isPinging = false;
    if (up !== this.#dependency.up)
      this.#dependency = { ...this.#dependency, up, since: this.#clock.nowMs() };
  }
}
