import { setMaxListeners } from 'node:events';
import type { Clock } from '../../infra/clock.ts';
import type { Dependency } from '../../infra/process/dependency.ts';
import type { Store } from '../../infra/store/store.ts';

/** Between an answer and the next ping. */
const INTERVAL_MS = 500;
/** The same while no question comes. The next question pings immediately. */
const IDLE_INTERVAL_MS = 5_000;
const IDLE_AFTER_MS = 10_000;
/** Then a ping counts as silent, and the next one is sent. */
const SILENT_MS = 650;
/** Then a store is doubted. */
const DOUBT_MS = 200;
/** Silent pings in a row until the store counts as unavailable. One is not enough: a store that works hard may miss one. */
const SILENT_MAX = 2;
/** Interval of credential checks. Each is a statement, which waits its turn in a busy store. */
const CREDENTIALS_EVERY_MS = 15_000;
/** A timer this late shows that this process was busy: its connections may hold unread answers. */
const LATE_MS = 50;

/** Signals for questions that wait for the store. */
export interface StoreSignals {
  /** Aborts when the store becomes unavailable. */
  readonly away: AbortSignal;
  /** Pings the store now. The signal aborts as soon as a ping is unanswered for a moment: the store may be unavailable or very busy. */
  doubted(): AbortSignal;
}

/**
 * Knows whether the store can be reached, and since when.
 *
 *     store    ──answers──┤ frozen
 *     pings     ↑    ↑    │  ↑──── silent, 650 ms ────▶↑──── silent, 650 ms ────▶ unavailable
 *                  500 ms    └─ 200 ms ─▶ doubted
 *
 * A frozen store is unavailable within two seconds of a question. Any answer to a ping, however late, shows that the
 * store lives. The store's HTTP interface answers a ping without a statement, so a store full of slow statements is
 * busy, not unavailable. Two rejected connections in a row make it unavailable immediately.
 */
export class StoreWatch implements StoreSignals {
  readonly #store: Pick<Store, 'responds' | 'rejectsUs'>;
  readonly #clock: Clock;
  readonly #credentials: NodeJS.Timeout;
  #dependency: Dependency;
  #away = unaborted();
  #doubt = unaborted();
  #silentPings = 0;
  #rejectedPings = 0;
  #isPinging = false;
  #askedAtMs = performance.now();
  #pingedAtMs = 0;
  #areCredentialsRejected = false;
  #isTryingCredentials = false;
  #isStopped = false;
  #next: NodeJS.Timeout | undefined;

  private constructor(store: Pick<Store, 'responds' | 'rejectsUs'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#dependency = { name: 'store', setting: 'CLICKHOUSE_URL', up: false, since: clock.nowMs() };
    this.#away.abort();
    this.#doubt.abort();
    this.#credentials = setInterval(() => void this.#tryCredentials(), CREDENTIALS_EVERY_MS).unref(); // Never rejects.
  }

  /** Resolves after the first ping. */
  static async start(store: Pick<Store, 'responds' | 'rejectsUs'>, clock: Clock): Promise<StoreWatch> {
    const watch = new StoreWatch(store, clock);
    await watch.#ping();
    await Promise.race([watch.#tryCredentials(), patience(SILENT_MS)]);
    return watch;
  }

  get dependency(): Dependency {
    return this.#dependency;
  }

  get away(): AbortSignal {
    this.#askedAtMs = performance.now();
    const isFresh = this.#askedAtMs - this.#pingedAtMs < INTERVAL_MS;
    if (!isFresh && !this.#isPinging) void this.#ping(); // Never rejects.
    return this.#away.signal;
  }

  doubted(): AbortSignal {
    if (!this.#isPinging) void this.#ping(); // Never rejects.
    return this.#doubt.signal;
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#credentials);
    clearTimeout(this.#next);
  }

  /** Sends one ping, judges it, and schedules the next one. */
  async #ping(): Promise<void> {
    if (this.#isStopped) return;
    clearTimeout(this.#next);
    this.#isPinging = true;
    this.#pingedAtMs = performance.now();
    const answer = this.#answer();
    const outcome = await Promise.race([answer, this.#silence(answer)]);
    this.#isPinging = false;
    if (outcome === 'rejected') this.#noteRejected();
    if (outcome === 'silent') this.#noteSilent();
    const isDoubtful = outcome !== 'answered' && this.#dependency.up;
    if (isDoubtful)
      void this.#ping(); // Never rejects.
    else if (!this.#isStopped)
      this.#next = setTimeout(() => void this.#ping(), outcome === 'silent' ? 0 : this.#intervalMs()).unref();
  }

  #intervalMs(): number {
    const isIdle = this.#dependency.up && performance.now() - this.#askedAtMs > IDLE_AFTER_MS;
    return isIdle ? IDLE_INTERVAL_MS : INTERVAL_MS;
  }

  /** The answer to one ping. It counts however late it comes. */
  async #answer(): Promise<'answered' | 'rejected'> {
    const isAnswered = await this.#store.responds().catch(() => false); // An error counts as no answer.
    if (isAnswered) this.#noteAlive();
    return isAnswered ? 'answered' : 'rejected';
  }

  /** Resolves when a ping is silent. Before that the store becomes doubted. */
  async #silence(answer: Promise<unknown>): Promise<'silent'> {
    let isOver = false;
    void answer.then(() => {
      isOver = true;
    });
    await patience(DOUBT_MS);
    if (!isOver) this.#doubt.abort();
    await patience(SILENT_MS - DOUBT_MS);
    return 'silent';
  }

  #noteAlive(): void {
    this.#silentPings = 0;
    this.#rejectedPings = 0;
    if (this.#doubt.signal.aborted) this.#doubt = unaborted();
    this.#judge(true);
  }

  #noteSilent(): void {
    this.#rejectedPings = 0;
    this.#silentPings += 1;
    if (this.#silentPings >= SILENT_MAX) this.#judge(false);
  }

  #noteRejected(): void {
    this.#silentPings = 0;
    this.#rejectedPings += 1;
    if (this.#rejectedPings >= SILENT_MAX) this.#judge(false);
  }

  #judge(isAlive: boolean): void {
    if (this.#isStopped) return;
    const up = isAlive && !this.#areCredentialsRejected;
    if (up === this.#dependency.up) return;
    this.#dependency = { ...this.#dependency, up, since: this.#clock.nowMs() };
    if (up) {
      this.#away = unaborted();
      return;
    }
    this.#doubt.abort();
    this.#away.abort();
  }

  async #tryCredentials(): Promise<void> {
    if (this.#isTryingCredentials) return;
    this.#isTryingCredentials = true;
    const areRejected = await this.#store.rejectsUs().catch(() => false); // No answer says nothing about the credentials.
    this.#isTryingCredentials = false;
    if (areRejected === this.#areCredentialsRejected) return;
    this.#areCredentialsRejected = areRejected;
    if (areRejected) this.#judge(false);
  }
}

/** Allows any number of waiting questions; Node warns from the eleventh listener on. */
function unaborted(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** Waits for `ms`, or longer while this process is busy, so that it reads answers that have arrived before it judges. */
async function patience(ms: number): Promise<void> {
  for (let leftMs = ms; leftMs > 0; ) {
    const startedAt = performance.now();
    await new Promise((resolve) => setTimeout(resolve, leftMs).unref());
    leftMs = performance.now() - startedAt > leftMs + LATE_MS ? LATE_MS : 0;
  }
  // The event loop reads connections between timers and this.
  await new Promise((resolve) => setImmediate(resolve));
}
