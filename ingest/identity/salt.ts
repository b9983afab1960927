import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import type { Clock } from '../../infra/clock.ts';
import { type Backoff, backoffMs } from '../../infra/concurrency/backoff.ts';
import type { Logger } from '../../infra/log.ts';

const SALT_BYTES = 16;
const DAY_MS = 86_400_000;
/** Tomorrow's salt is made this long before midnight, so that no request of the next day waits for it. */
const AHEAD_MS = 600_000;
const CHECK_MS = 60_000;
const RETRY: Backoff = { firstMs: 200, maxMs: 10_000 };
const KEY_PREFIX = 'salt.';

/** The salts of device ids at one moment. */
export interface DaySalts {
  /** Days since 1970, UTC. The two salts are the same as long as this is. */
  readonly day: number;
  readonly today: Uint8Array;
  /** Undefined on the very first day. */
  readonly yesterday: Uint8Array | undefined;
}

/**
 * The daily salts, the same on every node: the first node writes the day's salt with a compare-and-set, and all nodes
 * read what is stored. Only yesterday's, today's and soon tomorrow's exist. Older ones are removed, and with them the
 * last way from an address to a device id.
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
  readonly #byDay = new Map<number, Uint8Array>();
  readonly #stopping = new AbortController();
  #current: DaySalts | undefined;
  #cleanedDay = -1;
  #timer: NodeJS.Timeout | undefined;

  private constructor(bucket: KeyedBytes, clock: Clock, log: Logger) {
    this.#bucket = bucket;
    this.#clock = clock;
    this.#log = log;
  }

  /** Resolves once today's salt is known. */
  static async open(bucket: KeyedBytes, clock: Clock, log: Logger): Promise<Salts> {
    const salts = new Salts(bucket, clock, log);
    await salts.prepare();
    salts.#timer = setInterval(() => void salts.#prepareUntilDone(), CHECK_MS).unref();
    return salts;
  }

  /** The salts at `nowMs`; undefined only if the bus has been away since before midnight. */
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
    if (!this.#byDay.has(day - 1)) {
      const stored = await this.#bucket.get(keyOf(day - 1));
      if (stored?.bytes !== undefined) this.#remember(day - 1, stored.bytes);
    }
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
    for (let attempt = 0; !this.#stopping.signal.aborted; attempt += 1) {
      try {
        await this.prepare();
        break;
      } catch (error) {
        this.#log.warn({ err: error, attempt }, 'preparing the salts failed, retrying');
        const pause = { signal: this.#stopping.signal, ref: false };
        // The wait fails only when it is stopped, which ends the loop.
        await wait(backoffMs(RETRY, attempt, Math.random()), undefined, pause).catch(() => undefined);
      }
    }
    if (this.#stopping.signal.aborted) return;
    this.#timer = setInterval(() => void this.#prepareUntilDone(), CHECK_MS).unref();
  }

  async #removeBefore(oldest: string): Promise<void> {
    for (const key of await this.#bucket.keys()) {
      if (key.startsWith(KEY_PREFIX) && key < oldest) await this.#bucket.remove(key);
    }
  }

  async #ensure(day: number): Promise<void> {
    if (this.#byDay.has(day)) return;
    const key = keyOf(day);
    const stored = (await this.#bucket.get(key))?.bytes;
    if (stored !== undefined) {
      this.#remember(day, stored);
      return;
    }
    const fresh = randomBytes(SALT_BYTES);
    try {
      await this.#bucket.put(key, fresh, 0);
      this.#remember(day, fresh);
    } catch (error) {
      if (!(error instanceof BusError) || error.reason !== 'conflict') throw error;
      const first = (await this.#bucket.get(key))?.bytes;
      if (first === undefined) throw error;
      this.#remember(day, first);
    }
  }

  #remember(day: number, salt: Uint8Array): void {
    this.#byDay.set(day, Uint8Array.from(salt));
    this.#current = undefined;
  }
}

function keyOf(day: number): string {
  return KEY_PREFIX + new Date(day * DAY_MS).toISOString().slice(0, 10);
}
