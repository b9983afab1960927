import { LRUCache } from 'lru-cache';
import type { Bus } from '../bus/bus.ts';
import { BusError } from '../bus/bus-error.ts';
import type { KeyedBytes } from '../bus/keyed-bytes.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Counter, Metrics } from '../metrics.ts';
import {
  type Allowance,
  allowanceOf,
  evictExpired,
  type Limit,
  type RequestLog,
  takeFrom,
} from './rate-limit.ts';
import { decodeLog, encodeLog, joinLogs } from './shared-limit-log.ts';

/** Of the bus. Keys: name of the limit, a dot, id of the client. */
export const LIMITS_BUCKET = 'limits';

/** Clients of which this process remembers something; the one that asked longest ago goes. */
const CLIENTS_MAX = 20_000;
/** Room for the logs of some 60,000 clients that ask a hundred times in a window. */
const BUCKET_BYTES_MAX = 64 * 1024 ** 2;
/** After a failure the bus is left alone for so long, then one client's requests try it. */
const PAUSE_MS = 1_000;

export interface SharedLimitOptions {
  /** Limits of one name count together, in all processes. Letters, digits and `-`. */
  readonly name: string;
  readonly limit: Limit;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** The longest that is waited for the bus to take a write; then is counted without. */
  readonly waitMaxMs: number;
}

/** What this process knows of a client's requests. */
interface Counted {
  /** All that count. Nobody else takes any of it back: it only grows, and expires. */
  log: RequestLog;
  /** Those of it that the bus may not have. */
  unshared: RequestLog;
  /** Of the stored log that was seen last; 0: none. */
  revision: number;
  /** Who waits to be decided by the next write. */
  waiting: ((allowance: Allowance) => void)[];
  deciding: boolean;
}

/** Requests that are decided by one write. */
interface Group {
  readonly requests: number;
  /** What is written, while nobody knows whether it was. */
  atMs: number;
  givenUp: boolean;
}

/** What became of a group. */
interface Decision extends Pick<Counted, 'log' | 'unshared' | 'revision'> {
  /** So many of its requests, the first ones; they are the last of `log`. */
  readonly allowed: number;
}

/**
 * Counts the requests of clients over all processes: no span of a window has more than the limit, whoever was asked.
 * The bus keeps each client's log, and a log is replaced only by who read it as it is (compare-and-set):
 *
 *     requests   a  b c d     e f         g
 *     bus        ├a─────┤├b c d┤├e f──┤  ├g──┤     what comes during a write is decided by the next one
 *
 * So a request waits for one round trip, or for two if another is under way. Every write lets somebody in, and once a
 * log is known to be full nobody is asked: a client causes no more writes in a window than its limit has requests. A
 * conflict is another process's write, so each process has no more conflicts than that either.
 *
 * While the bus is away or too slow, each process counts by itself, from what it knows, and the bus learns it afterwards.
 * Then a client may have its limit from each of them; none is without an answer because it cannot be counted.
 *
 * A request is counted when it is decided, by the clock of the process that does. As far as clocks differ, it counts for
 * longer or shorter than a window.
 */
export class SharedLimit {
  readonly #options: SharedLimitOptions;
  readonly #clients: LRUCache<string, Counted>;
  readonly #countedAlone: Counter;
  #bucket: Promise<KeyedBytes> | undefined;
  #isAlone = false;
  /** By the process's own stopwatch, which nobody puts back. */
  #tryAgainAtMs = 0;

  constructor(options: SharedLimitOptions) {
    this.#options = options;
    // Of a client that was silent for longer, the bus has forgotten the log by then, and a revision would be a wrong one.
    const ttl = storedForMs(options.limit);
    this.#clients = new LRUCache({ max: CLIENTS_MAX, ttl, updateAgeOnGet: true });
    this.#countedAlone = options.metrics.counter(
      'query_limit_local_total',
      'requests of clients that were counted by this process alone, the bus being away',
    );
  }

  /** Counts one request of a client now if it is allowed, and says whether it is one too many. Never rejects. */
  take(clientId: string): Allowance | Promise<Allowance> {
    const { limit, clock } = this.#options;
    const nowMs = clock.nowMs();
    const counted = this.#countedOf(clientId);
    evictExpired(counted.log, limit, nowMs);
    if (counted.log.length >= limit.requestsMax) return takeFrom(counted.log, limit, nowMs);
    if (!counted.deciding && this.#isAway()) return this.#takeAlone(counted, nowMs);
    return new Promise((resolve) => {
      counted.waiting.push(resolve);
      if (counted.deciding) return;
      counted.deciding = true;
      // At the end of the event loop's turn: what came in the same turn is decided together.
      setImmediate(() => void this.#decideAll(clientId, counted)); // Cannot reject.
    });
  }

  #countedOf(clientId: string): Counted {
    const known = this.#clients.get(clientId);
    if (known !== undefined) return known;
    const counted = { log: [], unshared: [], revision: 0, waiting: [], deciding: false };
    this.#clients.set(clientId, counted);
    return counted;
  }

  async #decideAll(clientId: string, counted: Counted): Promise<void> {
    while (counted.waiting.length > 0) {
      const { waiting } = counted;
      counted.waiting = [];
      const group: Group = { requests: waiting.length, atMs: this.#options.clock.nowMs(), givenUp: false };
      const decision = this.#isAway() ? undefined : await this.#decideTogether(clientId, counted, group);
      if (decision === undefined) {
        // With the time of the write that may have been done nevertheless: it is known again by its times.
        for (const settle of waiting) settle(this.#takeAlone(counted, group.atMs));
      } else {
        this.#settle(waiting, decision, group.atMs);
      }
    }
    counted.deciding = false;
  }

  /** Undefined when the bus does not say in time. */
  async #decideTogether(clientId: string, counted: Counted, group: Group): Promise<Decision | undefined> {
    const { name, waitMaxMs } = this.#options;
    // While nobody knows whether the bus is back, the others do not wait for it.
    if (this.#isAlone) this.#tryAgainAtMs = performance.now() + PAUSE_MS;
    try {
      const decision = await within(this.#share(`${name}.${clientId}`, counted, group), waitMaxMs);
      counted.log = decision.log;
      counted.unshared = decision.unshared;
      counted.revision = decision.revision;
      if (decision.allowed > 0) this.#succeed();
      return decision;
    } catch (error) {
      group.givenUp = true;
      this.#fail(error);
      return undefined;
    }
  }

  /** Decides a group by what the bus has, and writes what it allows. Changes nothing but `group`. */
  async #share(key: string, counted: Readonly<Counted>, group: Group): Promise<Decision> {
    const { bus, limit, clock } = this.#options;
    this.#bucket ??= bus.keyed(LIMITS_BUCKET, {
      storage: 'memory',
      maxAgeMs: storedForMs(limit),
      bytesMax: BUCKET_BYTES_MAX,
    });
    const bucket = await this.#bucket;
    let { unshared, revision } = counted;
    let log = [...counted.log];
    for (;;) {
      if (group.givenUp) throw tooSlow(this.#options.waitMaxMs);
      group.atMs = clock.nowMs();
      evictExpired(log, limit, group.atMs);
      const allowed = Math.min(group.requests, limit.requestsMax - log.length);
      if (allowed === 0) return { log, unshared, revision, allowed };
      const next = [...log, ...Array.from({ length: allowed }, () => group.atMs)];
      try {
        return {
          log: next,
          unshared: [],
          revision: await bucket.put(key, encodeLog(next), revision),
          allowed,
        };
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
      const stored = await bucket.get(key);
      // A later log was made of the one that is known here. Any other was made because that one was gone.
      const isLater = stored !== undefined && stored.revision > revision;
      if (!isLater) unshared = log;
      log = joinLogs(decodeLog(stored?.bytes), unshared, limit.requestsMax);
      revision = stored?.revision ?? 0;
    }
  }

  #settle(waiting: Counted['waiting'], { log, allowed }: Decision, nowMs: number): void {
    const { limit } = this.#options;
    const before = log.length - allowed;
    for (let index = 0; index < waiting.length; index += 1) {
      const exceeded = index >= allowed;
      const counted = before + Math.min(index + 1, allowed);
      waiting[index]?.(allowanceOf(limit, { exceeded, counted, oldestMs: log[0], nowMs }));
    }
  }

  #takeAlone(counted: Counted, nowMs: number): Allowance {
    const allowance = takeFrom(counted.log, this.#options.limit, nowMs);
    // Nobody knows what the bus still has when it comes back: it is read, and told everything.
    counted.unshared = [...counted.log];
    counted.revision = 0;
    this.#countedAlone.add();
    return allowance;
  }

  #isAway(): boolean {
    return !this.#options.bus.connected || performance.now() < this.#tryAgainAtMs;
  }

  #succeed(): void {
    if (!this.#isAlone) return;
    this.#isAlone = false;
    this.#tryAgainAtMs = 0;
    this.#options.log.info('limits: counted together again');
  }

  #fail(error: unknown): void {
    this.#tryAgainAtMs = performance.now() + PAUSE_MS;
    // Made anew if it is gone: the bus keeps it in memory.
    this.#bucket = undefined;
    if (this.#isAlone) return;
    this.#isAlone = true;
    this.#options.log.warn({ err: error }, 'limits: the bus does not answer; this process counts alone');
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof BusError && error.reason === 'conflict';
}

/** How long the bus keeps a log after its last change: longer than anything in it counts. */
function storedForMs({ windowMs }: Limit): number {
  return 2 * windowMs;
}

function tooSlow(timeMaxMs: number): BusError {
  return new BusError(`bus: limits: no answer within ${timeMaxMs} ms`, 'timeout', undefined);
}

/** What `promise` gives; throws when that takes longer. */
async function within<Value>(promise: Promise<Value>, timeMaxMs: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooSlow(timeMaxMs)), timeMaxMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
