import { join } from 'node:path';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { withLock } from '../../infra/bus/lock.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { checkServer } from '../../infra/store/server-check.ts';
import { storeShardOfLane } from '../../infra/store/shard-of.ts';
import { Store, type StoreOptions } from '../../infra/store/store.ts';
import { StoreError } from '../../infra/store/store-error.ts';
import { PerShard, settlePlace } from '../../infra/store/store-shards.ts';

/** Processors that start at the same time change the tables one after the other. */
const SCHEMA_LOCK = 'schema';
const SCHEMA_FOLDER = join(projectRoot, 'processor/schema');
const AGAIN_MS = 1_000;
/** A store that does not answer within this time is unavailable, though it may accept connections. */
const FIRST_TRY_MAX_MS = 10_000;

/**
 * The shards of the store, whose tables are brought up to this release. A processor starts without an unavailable shard: its lanes wait
 * until its tables are known to be right. While all of them are unavailable, the processor takes no part in the shares: other processors
 * would hand it lanes that it cannot work on.
 */
export class PreparedShards {
  readonly stores: PerShard<Store>;
  readonly #addresses: readonly StoreOptions[];
  readonly #laneRecords: KeyedBytes;
  readonly #log: Logger;
  readonly #ready = new Set<number>();
  readonly #reasons = new Map<number, string>();
  readonly #change = new Notify();
  #isStopped = false;

  private constructor(addresses: readonly StoreOptions[], laneRecords: KeyedBytes, log: Logger) {
    this.#addresses = addresses;
    this.stores = new PerShard(addresses.map((address) => new Store(address)));
    this.#laneRecords = laneRecords;
    this.#log = log;
  }

  /**
   * Resolves once all shards are ready that answer, or after ten seconds.
   * @throws {Error} why a shard cannot be used, if waiting does not mend it and it is known by then
   */
  static async open(
    addresses: readonly StoreOptions[],
    { laneRecords, log }: { readonly laneRecords: KeyedBytes; readonly log: Logger },
  ): Promise<PreparedShards> {
    const shards = new PreparedShards(addresses, laneRecords, log);
    const firstTry = shards.#prepareAll((error) => {
      if (!(error instanceof StoreError) || !error.retryable) throw error;
    });
    let timer: NodeJS.Timeout | undefined;
    const isLate = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, FIRST_TRY_MAX_MS);
    });
    await Promise.race([firstTry, isLate]).finally(() => clearTimeout(timer));
    void shards.#prepareRest(firstTry); // Never rejects.
    return shards;
  }

  /** The shards that have not been ready yet, from 0 on. */
  get waitedFor(): readonly number[] {
    return [...this.#addresses.keys()].filter((shard) => !this.#ready.has(shard));
  }

  /** True if lanes can be worked on: a shard is ready. */
  get isUsable(): boolean {
    return this.#ready.size > 0;
  }

  /** Resolves once a shard is ready, or when `close` is called. */
  async usable(): Promise<void> {
    while (!this.isUsable && !this.#isStopped) await this.#change.wait();
  }

  /** True if the tables of a lane are right. */
  isReady(lane: number): boolean {
    return this.#ready.has(storeShardOfLane(lane, { storeShards: this.#addresses.length }));
  }

  async close(): Promise<void> {
    this.#isStopped = true;
    this.#change.end();
    await this.stores.inEach((store) => store.close());
  }

  async #prepareRest(firstTry: Promise<void>): Promise<void> {
    // `open` throws a failure of this try. If it fails after `open` has returned, the next try fails, too, and logs it.
    await firstTry.catch(() => {});
    while (!this.#isStopped && this.waitedFor.length > 0) {
      await this.#change.sleep(AGAIN_MS);
      await this.#prepareAll();
    }
  }

  /** Tries each shard that is not ready, one after the other. Logs each failure, unless `onFailure` throws it. */
  async #prepareAll(onFailure: (error: unknown) => void = () => {}): Promise<void> {
    for (const shard of this.waitedFor) {
      if (this.#isStopped) return;
      try {
        await this.#prepare(shard);
      } catch (error) {
        onFailure(error);
        this.#note(shard, error);
      }
    }
  }

  async #prepare(shard: number): Promise<void> {
    const { all } = this.stores;
    const [store, address] = [all[shard], this.#addresses[shard]];
    if (store === undefined || address === undefined) return;
    await checkServer(address, this.#log);
    const prepare = async () => {
      await migrate(store, SCHEMA_FOLDER);
      await settlePlace(store, { shard, shards: all.length });
    };
    await withLock(this.#laneRecords, SCHEMA_LOCK, prepare, {
      onWait: (holder) => this.#log.info({ holder }, 'waiting for another process, which changes the tables'),
    });
    this.#ready.add(shard);
    this.#change.wake();
    if (this.#reasons.delete(shard)) this.#log.info({ shard }, 'the shard of the store is there');
  }

  /** Logs why the lanes of a shard wait, once for each reason. */
  #note(shard: number, error: unknown): void {
    const reason = reasonOf(error);
    if (this.#reasons.get(shard) !== reason)
      this.#log.error({ shard, reason }, 'a shard of the store cannot be used yet: its lanes wait');
    this.#reasons.set(shard, reason);
  }
}
