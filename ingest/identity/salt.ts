import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { whenFormed } from '../../infra/bus/when-formed.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Backoff } from '../../infra/concurrency/backoff.ts';
import { retry } from '../../infra/concurrency/retry.ts';
import { DAY_MS } from '../../infra/durations.ts';
import type { Logger } from '../../infra/log.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';

const SALT_BYTES = 16;
/** Tomorrow's salt is made this long before midnight, so that no request of the next day waits for it. */
const AHEAD_MS = 600_000;
const CHECK_MS = 60_000;
const RETRY: Backoff = { firstMs: 200, maxMs: 10_000 };
const KEY_PREFIX = 'salt.';
/** The number of times that a salt is read after another node has just made it. */
const READS_MAX = 10;
const READ_AGAIN_MS = 100;

export interface SaltsOptions {
  readonly bucket: KeyedBytes;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The salts of device ids at one moment. */
export interface DaySalts {
  /** Days since 1970, UTC. The two salts change with it. */
  readonly day: number;
  readonly today: Uint8Array;
  /** Undefined on the very first day. */
  readonly yesterday: Uint8Array | undefined;
}

/**
 * The daily salts, the same on every node: the first node writes the day's salt with a compare-and-set, and all nodes read the stored one.
 * Only yesterday's, today's and soon tomorrow's exist. Older ones are removed and overwritten on the disk, and with them goes the last way
 * from an address to a device id.
 *
 *      00:00                            23:50  00:00
 *     ───┼────────── today ────────────────┼─────┼──▶
 *        │ yesterday's is available        │     │ yesterday's is removed
 *                                          └ tomorrow's is made
 */
export class Salts {
  readonly #bucket: KeyedBytes;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #retries: Counter;
  readonly #byDay = new Map<number, Uint8Array>();
  readonly #stopping = new AbortController();
  #current: DaySalts | undefined;
  #cleanedDay = -1;
  #timer: NodeJS.Timeout | undefined;

  private constructor({ bucket, clock, log, metrics }: SaltsOptions) {
    this.#bucket = bucket;
    this.#clock = clock;
    this.#log = log;
    this.#retries = metrics.counter(
      'ingest_salt_retries_total',
      'Attempts to read, make or remove daily salts that failed and were retried.',
    );
  }

  /** Resolves once today's salt is known. */
  static async open(options: SaltsOptions): Promise<Salts> {
    const salts = new Salts(options);
    await whenFormed(() => salts.prepare());
    salts.#timer = setInterval(() => void salts.#prepareUntilDone(), CHECK_MS).unref();
    return salts;
  }

  /** The salts at `nowMs`; undefined only if the bus has been unavailable since before midnight. */
  at(nowMs: number): DaySalts | undefined {
    const day = Math.floor(nowMs / DAY_MS);
    if (this.#current?.day === day) return this.#current;
    const today = this.#byDay.get(day);
    if (today === undefined) return undefined;
    this.#current = { day, today, yesterday: this.#byDay.get(day - 1) };
    return this.#current;
  }

  /** Fetches or makes every salt that is needed now or soon, and removes the old ones. */
  async prepare(): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const day = Math.floor(nowMs / DAY_MS);
    // Yesterday's is only read: a salt made now would match no device id of yesterday.
    if (!this.#byDay.has(day - 1)) await this.#read(day - 1);
    await this.#ensure(day);
    if ((day + 1) * DAY_MS - nowMs <= AHEAD_MS) await this.#ensure(day + 1);
    if (this.#cleanedDay === day) return;
    for (const known of this.#byDay.keys()) if (known < day - 1) this.#byDay.delete(known);
    await this.#removeBefore(keyOf(day - 1));
    this.#cleanedDay = day;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#stopping.abort();
  }

  async #prepareUntilDone(): Promise<void> {
    clearInterval(this.#timer);
    const { signal } = this.#stopping;
    try {
      await retry(
        {
          operation: 'preparation of salts',
          backoff: RETRY,
          log: this.#log,
          fields: {},
          retries: this.#retries,
          random: Math.random,
          // The only way to fail is the stop, which ends the retries.
          sleep: (ms) => wait(ms, undefined, { signal, ref: false }).catch(() => undefined),
          isEnough: () => signal.aborted,
        },
        () => this.prepare(),
      );
    } catch (error) {
      if (!signal.aborted)
        this.#log.error({ err: error }, 'salts could not be prepared, next try in a minute');
    }
    if (this.#stopping.signal.aborted) return;
    this.#timer = setInterval(() => void this.#prepareUntilDone(), CHECK_MS).unref();
  }

  async #removeBefore(oldest: string): Promise<void> {
    for (const { key } of await this.#bucket.list(`${KEY_PREFIX}*`))
      if (key < oldest) await this.#bucket.remove(key);
  }

  async #ensure(day: number): Promise<void> {
    if (this.#byDay.has(day) || (await this.#read(day))) return;
    const fresh = randomBytes(SALT_BYTES);
    try {
      await this.#bucket.putFirst(keyOf(day), fresh);
      this.#remember(day, fresh);
    } catch (error) {
      if (!(error instanceof BusError) || error.reason !== 'conflict') throw error;
      // In a cluster, the server that is read from may learn of the first salt a moment later.
      for (let reads = 1; !(await this.#read(day)); reads += 1) {
        if (reads === READS_MAX) throw error;
        await wait(READ_AGAIN_MS);
      }
    }
  }

  /** True if the day has a salt, which is then known. */
  async #read(day: number): Promise<boolean> {
    const [stored] = await this.#bucket.list(keyOf(day));
    if (stored?.bytes === undefined) return false;
    this.#remember(day, stored.bytes);
    return true;
  }

  #remember(day: number, salt: Uint8Array): void {
    this.#byDay.set(day, Uint8Array.from(salt));
    this.#current = undefined;
  }
}

function keyOf(day: number): string {
  return KEY_PREFIX + new Date(day * DAY_MS).toISOString().slice(0, 10);
}
