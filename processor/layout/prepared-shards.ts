import { join } from 'node:path';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { withLock } from '../../infra/bus/lock.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { checkServer } from '../../infra/store/server-check.ts';
import { storeShardOfLane } from '../../infra/store/shard-of.ts';
import { Store, type StoreOptions } from '../../infra/store/store.ts';
import { StoreError } from '../../infra/store/store-error.ts';
import { PerShard, settlePlace } from '../../infra/store/store-shards.ts';

/** Processors that start at once change the tables one after the other. */
const SCHEMA_LOCK = 'schema';
const SCHEMA_FOLDER = join(projectRoot, 'processor/schema');
const AGAIN_MS = 1_000;

/**
 * The shards of the store, whose tables are brought up to this release. A processor starts without a shard that is away, as long as another
 * one is there: its lanes wait until its tables are known to be right.
 */
export class PreparedShards {
  readonly stores: PerShard<Store>;
  readonly #addresses: readonly StoreOptions[];
  readonly #laneRecords: KeyedBytes;
  readonly #log: Logger;
  readonly #ready = new Set<number>();
  readonly #reasons = new Map<number, string>();
  #next: NodeJS.Timeout | undefined;
  #isStopped = false;

  private constructor(addresses: readonly StoreOptions[], laneRecords: KeyedBytes, log: Logger) {
    this.#addresses = addresses;
    this.stores = new PerShard(addresses.map((address) => new Store(address)));
    this.#laneRecords = laneRecords;
    this.#log = log;
  }

  /**
   * Resolves once all shards are ready that answer.
   * @throws {Error} why one cannot be used, or why none answers
   */
  static async open(
    addresses: readonly StoreOptions[],
    { laneRecords, log }: { readonly laneRecords: KeyedBytes; readonly log: Logger },
  ): Promise<PreparedShards> {
    const shards = new PreparedShards(addresses, laneRecords, log);
    let failure: unknown;
    for (const shard of addresses.keys()) {
      try {
        await shards.#prepare(shard);
      } catch (error) {
        if (!(error instanceof StoreError) || !error.retryable) throw error;
        failure = error;
        shards.#note(shard, error);
      }
    }
    if (shards.#ready.size === 0) throw failure;
    shards.#prepareSoon();
    return shards;
  }

  /** Whether the tables of a lane are right. */
  isReady(lane: number): boolean {
    return this.#ready.has(storeShardOfLane(lane, { storeShards: this.#addresses.length }));
  }

  async close(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#next);
    await this.stores.inEach((store) => store.close());
  }

  #prepareSoon(): void {
    if (this.#isStopped || this.#ready.size === this.#addresses.length) return;
    this.#next = setTimeout(() => void this.#prepareRest(), AGAIN_MS); // Never rejects.
  }

  async #prepareRest(): Promise<void> {
    for (const shard of this.#addresses.keys())
      if (!this.#ready.has(shard))
        await this.#prepare(shard).catch((error: unknown) => this.#note(shard, error));
    this.#prepareSoon();
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
