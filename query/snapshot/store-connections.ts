import type { Clock } from '../../infra/clock.ts';
import type { Logger } from '../../infra/log.ts';
import type { Dependency } from '../../infra/process/dependency.ts';
import { noteServer } from '../../infra/store/server-features.ts';
import { Store } from '../../infra/store/store.ts';
import { comparePlace, type ShardAddress, type ShardPlace } from '../../infra/store/store-shards.ts';
import type { HistoryShard } from './history-shard.ts';
import { StoreWatch } from './store-watch.ts';

const STREAM_SILENCE_MAX_MS = 600_000;
const PING_TIME_MAX_MS = 3_000;

export interface StoreConnectionsOptions {
  readonly address: ShardAddress;
  readonly place: ShardPlace;
  /** For anything but streams and pings. */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Connections of this process to one shard of the store, and its state. */
export interface StoreConnections {
  /** For imports of search-console rows; questions may only read. */
  readonly store: Store;
  /** For questions. */
  readonly history: HistoryShard;
  readonly dependency: () => Dependency;
  readonly close: () => Promise<void>;
}

/** Resolves after the first ping. */
export async function openStoreConnections({
  address,
  place,
  requestTimeoutMs,
  clock,
  log,
}: StoreConnectionsOptions): Promise<StoreConnections> {
  const { url, queryUrl, database, cluster } = address;
  const store = new Store({ url, database, cluster, requestTimeoutMs });
  const reading = { url: queryUrl, database, cluster, isReadonly: true };
  const questioned = new Store({ ...reading, requestTimeoutMs });
  const streams = new Store({ ...reading, requestTimeoutMs: STREAM_SILENCE_MAX_MS });
  const pinged = new Store({ ...reading, requestTimeoutMs: PING_TIME_MAX_MS });
  const trial = new ShardTrial(pinged, place, log);
  const watch = await StoreWatch.start(trial, clock);
  const stopNoting = noteServer(questioned, log);
  const isReachable = () => watch.dependency.up && trial.isOurs;
  return {
    store,
    history: { store: questioned, streams, isReachable, signals: watch },
    dependency: () => ({ ...watch.dependency, up: isReachable(), server: place.shard }),
    close: async () => {
      watch.stop();
      stopNoting();
      await Promise.all([store, questioned, streams, pinged].map((one) => one.close()));
    },
  };
}

/**
 * Checks that a server is the shard that it is listed as. Until then nothing is asked of a store with several shards:
 * another shard has no rows of the site and would answer with zeros.
 */
class ShardTrial {
  readonly #store: Store;
  readonly #place: ShardPlace;
  readonly #log: Logger;
  #isOurs: boolean;
  #problem: string | undefined;

  constructor(store: Store, place: ShardPlace, log: Logger) {
    this.#store = store;
    this.#place = place;
    this.#log = log;
    this.#isOurs = place.shards === 1;
  }

  get isOurs(): boolean {
    return this.#isOurs;
  }

  async responds(): Promise<boolean> {
    if (!(await this.#store.responds())) return false;
    if (!this.#isOurs) await this.#try().catch(() => undefined); // Credentials are checked elsewhere.
    return true;
  }

  async rejectsUs(): Promise<boolean> {
    if (await this.#store.rejectsUs()) return true;
    await this.#try();
    return this.#problem !== undefined;
  }

  async #try(): Promise<void> {
    const { isOurs, problem } = await comparePlace(this.#store, this.#place);
    this.#isOurs = isOurs;
    if (problem !== undefined && problem !== this.#problem)
      this.#log.error({ reason: problem }, 'no question is answered');
    this.#problem = problem;
  }
}
