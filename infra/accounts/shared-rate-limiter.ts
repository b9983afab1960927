import { randomUUID } from 'node:crypto';
import type { Bus } from '../bus/bus.ts';
import type { Clock } from '../clock.ts';
import type { Allowance } from '../http/limit-headers.ts';
import type { Counter, Metrics } from '../metrics.ts';
import { COUNTED_KEYS_MAX, decodeLimitCounts, encodeLimitCounts, limitSubjectOf } from './limit-counts.ts';
import { type Limit, RateLimiter, storedKeyOf } from './rate-limiter.ts';

/** The time between two exchanges of a service. */
export const EXCHANGE_MS = 250;
/** Exchanges that are skipped after the bus was unavailable. The other processes need a moment to reconnect, too. */
export const RECONNECT_EXCHANGES = 4;

type IgnoredReason = 'unreadable' | 'other-window';

export interface SharedRateLimiterOptions {
  /** Limiters of one kind count together in all processes. Letters, digits and `-`. */
  readonly kind: string;
  readonly limit: Limit;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** The time between two exchanges. */
  readonly exchangeMs: number;
}

/** Requests that this process allowed in one window and has not sent yet. */
interface Unsent {
  readonly window: number;
  /** By stored key. */
  readonly counts: Map<string, number>;
}

/**
 * A `RateLimiter` whose counts are shared by the processes on a bus. Each decides immediately by its own knowledge, and
 * in each exchange sends its allowed requests to the others: in one message, and only if there are any.
 *
 * So the sum over n processes is limited approximately. In one window they allow at most `requestsMax`, plus what the
 * other n - 1 allow within one exchange (`exchangeMs` and the delivery of a message), and never more than n ×
 * `requestsMax`. The excess counts in the next window, too. While the bus is unavailable, each process counts for
 * itself. Its counts of this window and the one before are sent `RECONNECT_EXCHANGES` after the bus is back. A process
 * that starts does not know earlier counts.
 */
export class SharedRateLimiter {
  readonly #limiter: RateLimiter;
  readonly #subject: string;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #process = randomUUID();
  readonly #ignored: Readonly<Record<IgnoredReason, Counter>>;
  readonly #failedSends: Counter;
  readonly #stopListening: () => void;
  readonly #exchangeMs: number;
  /** Runs only while something is counted, so that a service without requests sleeps. */
  #timer: NodeJS.Timeout | undefined;
  /** The counts of this window and of the one before, the earlier first. */
  #unsent: Unsent[] = [];
  #exchangesToSkip = 0;

  constructor({ kind, limit, bus, clock, metrics, exchangeMs }: SharedRateLimiterOptions) {
    this.#limiter = new RateLimiter(limit);
    this.#subject = limitSubjectOf(kind);
    this.#bus = bus;
    this.#clock = clock;
    this.#ignored = {
      unreadable: ignoredCounter(metrics, kind, 'unreadable'),
      'other-window': ignoredCounter(metrics, kind, 'other-window'),
    };
    this.#failedSends = metrics.counter(
      'limit_sends_failed_total',
      'attempts to send counts to the other processes that failed and are repeated',
      { kind },
    );
    metrics.gaugeOf(
      'limit_unsent_keys',
      'keys whose requests the other processes do not know of yet; many while the bus is away',
      { kind },
      () => this.#unsent.reduce((keys, { counts }) => keys + counts.size, 0),
    );
    this.#stopListening = bus.listen(this.#subject, (bytes) => this.#receive(bytes));
    this.#exchangeMs = exchangeMs;
  }

  /**
   * Counts one request of `key` if it is allowed. Undefined: there is no limit. `requestsMax` replaces the limit of the
   * limiter for this key.
   */
  take(key: string, requestsMax?: number): Allowance | undefined {
    const nowMs = this.#clock.nowMs();
    const allowance = this.#limiter.take(key, nowMs, requestsMax);
    if (allowance?.allowed) this.#note(storedKeyOf(key), this.#limiter.windowAt(nowMs));
    return allowance;
  }

  /** The result that `take` would have, and the remaining requests. Counts nothing. */
  look(key: string): Allowance | undefined {
    return this.#limiter.look(key, this.#clock.nowMs());
  }

  /** Sends unsent counts, if the bus is there. A timer calls it every `exchangeMs`. */
  exchange(): void {
    this.#sendUnsent();
    if (this.#unsent.length > 0 || !this.#limiter.isEmpty) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sendUnsent(): void {
    const nowMs = this.#clock.nowMs();
    this.#limiter.evictExpired(nowMs);
    const window = this.#limiter.windowAt(nowMs);
    this.#unsent = this.#unsent.filter((unsent) => unsent.window >= window - 1);
    if (!this.#bus.connected) {
      this.#exchangesToSkip = RECONNECT_EXCHANGES;
      return;
    }
    if (this.#exchangesToSkip > 0) {
      this.#exchangesToSkip -= 1;
      return;
    }
    try {
      for (const { window, counts } of [...this.#unsent]) {
        const message = { process: this.#process, window, counts: [...counts] };
        this.#bus.broadcast(this.#subject, encodeLimitCounts(message));
        this.#unsent.shift();
      }
    } catch {
      this.#failedSends.add();
    }
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#stopListening();
  }

  #startTimer(): void {
    this.#timer ??= setInterval(() => this.exchange(), this.#exchangeMs).unref();
  }

  #note(stored: string, window: number): void {
    this.#startTimer();
    let last = this.#unsent.at(-1);
    if (last?.window !== window) {
      last = { window, counts: new Map() };
      this.#unsent = [...this.#unsent.slice(-1), last];
    }
    const { counts } = last;
    const requests = counts.get(stored);
    // Further keys are counted only by this process. Real clients do not come at 20,000 new ones a second.
    if (requests === undefined && counts.size >= COUNTED_KEYS_MAX) return;
    counts.set(stored, (requests ?? 0) + 1);
  }

  #receive(bytes: Uint8Array): void {
    const message = decodeLimitCounts(bytes);
    if (message === undefined) {
      this.#ignored.unreadable.add();
      return;
    }
    if (message.process === this.#process) return;
    this.#startTimer();
    const nowMs = this.#clock.nowMs();
    for (const [stored, requests] of message.counts) {
      if (this.#limiter.addStored(stored, requests, message.window, nowMs)) continue;
      this.#ignored['other-window'].add();
      return;
    }
  }
}

function ignoredCounter(metrics: Metrics, kind: string, reason: IgnoredReason): Counter {
  return metrics.counter(
    'limit_messages_ignored_total',
    'counts of other processes that were ignored: not readable, or of a window that is not the present one',
    { kind, reason },
  );
}
