import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { busHosts } from '../bus/bus-servers.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { isLoopback } from '../network/exposure.ts';
import { listed } from '../store/listed.ts';
import { FULL_SHARE, freeBytesOf } from './free-bytes.ts';

const CHECK_EVERY_MS = 500;
/** With more than this many times the required space, no writer fills the disk between two of the rarer checks. */
const AMPLE_TIMES = 16;
const CHECK_AMPLE_EVERY_MS = 5_000;
// A full disk stays full until this share of the required space is free.
const FREED_SHARE = 1 / 2;

type DiskConfig = Pick<Config, 'DATA_DIR' | 'NATS_URL' | 'CLICKHOUSE_URL' | 'DISK_FREE_MIN_BYTES'>;

/** The disk as `/healthz/ready` reports it. `full`: events are rejected. */
export interface ReportedDisk {
  readonly state: 'free' | 'low' | 'full';
  readonly freeBytes: number;
  /** The setting `DISK_FREE_MIN_BYTES`. */
  readonly minBytes: number;
  readonly since: string;
}

/** Knows how much space is free for the bus and the store, where they store on this machine. */
export class DiskWatch {
  readonly #folder: string;
  readonly #minBytes: number;
  readonly #clock: Clock;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #state: ReportedDisk['state'] = 'free';
  #freeBytes = Number.POSITIVE_INFINITY;
  #since: number;

  private constructor({ DATA_DIR, DISK_FREE_MIN_BYTES }: DiskConfig, clock: Clock) {
    this.#folder = DATA_DIR;
    this.#minBytes = DISK_FREE_MIN_BYTES;
    this.#clock = clock;
    this.#since = clock.nowMs();
  }

  /** Resolves after the first look. Undefined where nothing is to be watched. */
  static async open(config: DiskConfig, clock: Clock): Promise<DiskWatch | undefined> {
    const servers = [
      ['bus', busHosts(config.NATS_URL)],
      [
        'store',
        listed(config.CLICKHOUSE_URL).flatMap((url) => (URL.canParse(url) ? [new URL(url).hostname] : [])),
      ],
    ] as const;
    const isHere = servers.some(
      ([folder, hosts]) => hosts.some(isLoopback) && existsSync(join(config.DATA_DIR, folder)),
    );
    if (!isHere || config.DISK_FREE_MIN_BYTES === 0) return undefined;
    const watch = new DiskWatch(config, clock);
    await watch.#check();
    return watch;
  }

  /** True if writes may fail at any moment, so that nothing more should be accepted. */
  get isFull(): boolean {
    return this.#state === 'full';
  }

  /** True if there is as much room as required. */
  get isFree(): boolean {
    return this.#state === 'free';
  }

  /** Undefined where the file system does not say how much is free. */
  get reported(): ReportedDisk | undefined {
    if (!Number.isFinite(this.#freeBytes)) return undefined;
    return {
      state: this.#state,
      freeBytes: this.#freeBytes,
      minBytes: this.#minBytes,
      since: new Date(this.#since).toISOString(),
    };
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #check(): Promise<void> {
    this.#freeBytes = await freeBytesOf(this.#folder);
    const isAmple = this.#freeBytes > AMPLE_TIMES * this.#minBytes;
    const nextMs = isAmple ? CHECK_AMPLE_EVERY_MS : CHECK_EVERY_MS;
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.#check(), nextMs).unref(); // Never rejects.
    const state = this.#stateAt(this.#freeBytes);
    if (state === this.#state) return;
    this.#state = state;
    this.#since = this.#clock.nowMs();
  }

  #stateAt(freeBytes: number): ReportedDisk['state'] {
    const fullBelowBytes = this.#minBytes * (this.#state === 'full' ? FREED_SHARE : FULL_SHARE);
    if (freeBytes < fullBelowBytes) return 'full';
    return freeBytes < this.#minBytes ? 'low' : 'free';
  }
}
