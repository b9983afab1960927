import { Accounts } from '../../infra/accounts/accounts.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { type Entry, followBucket, Mirror } from '../../infra/bus/mirror.ts';
import { type Backoff, backoffMs } from '../../infra/concurrency/backoff.ts';
import { Semaphore } from '../../infra/concurrency/semaphore.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { reasonOf } from '../../infra/log.ts';
import type { Store } from '../../infra/store/store.ts';
import { StoreError } from '../../infra/store/store-error.ts';
import type { PerShard } from '../../infra/store/store-shards.ts';
import { JobOverError, type LeaderDeps, LeaderJob } from '../leader-job/leader-job.ts';
import {
  CONNECTION_PREFIX,
  type Connection,
  connectionSchema,
  credentialsOf,
  type Sync,
  type SyncFailure,
} from '../search-console.ts';
import { GoogleClient } from './google-client.ts';
import { GoogleError, messageOf } from './google-failure.ts';
import type { SyncMetrics } from './sync-metrics.ts';
import { dueWork, firstSync } from './sync-plan.ts';
import { readSync, type StoredSync, SyncOvertakenError, writeSync } from './sync-records.ts';
import { PAGE_ROWS, runStep } from './sync-step.ts';

/** No event says that this process became the leader, or that a sync is due. */
const LOOK_EVERY_MS = 1_000;
const SWEEP_EVERY_MS = 60_000;
const PASS_BACKOFF: Backoff = { firstMs: 1_000, maxMs: 10_000 };
/** Connections that are served concurrently. */
const SYNCS_MAX = 4;
const REQUEST_MAX_MS = 60_000;
/** Failures that people have to repair are retried rarely; a change of the connection is tried immediately. */
const REPAIRED_BACKOFF: Backoff = { firstMs: 600_000, maxMs: 6 * HOUR_MS };
const QUOTA_BACKOFF: Backoff = { firstMs: 60_000, maxMs: HOUR_MS };
const AWAY_BACKOFF: Backoff = { firstMs: 5_000, maxMs: 300_000 };
/** Google may ask for longer waits than this; then it is asked once a day. */
const RETRY_AFTER_MAX_MS = 24 * HOUR_MS;
export const SYNC_BACKOFFS: Readonly<Record<SyncFailure, Backoff>> = {
  'token-expired': REPAIRED_BACKOFF,
  'no-access': REPAIRED_BACKOFF,
  quota: QUOTA_BACKOFF,
  unreadable: REPAIRED_BACKOFF,
  'google-away': AWAY_BACKOFF,
  'store-away': AWAY_BACKOFF,
  failed: QUOTA_BACKOFF,
};

export interface SearchConsoleJobOptions extends LeaderDeps {
  readonly bus: Bus;
  readonly stores: PerShard<Store>;
  /** The bucket of `Connection` records. */
  readonly control: KeyedBytes;
  /** The bucket of `Sync` records. */
  readonly syncs: KeyedBytes;
  readonly secretsKey: string;
  /** Interval at which the newest days are fetched. */
  readonly intervalMs: number;
  /** See `GoogleClientOptions`. */
  readonly baseUrl: string;
  readonly metrics: SyncMetrics;
  readonly requestMaxMs?: number;
  readonly pageRows?: number;
  readonly backfillDays?: number;
}

interface KnownConnection {
  readonly revision: number;
  readonly client: GoogleClient | undefined;
  stored: (StoredSync & { readonly sync: Sync }) | undefined;
}

/**
 * Fetches the rows of the Search Console for all connected sites. Everything it has to remember is in the records, so a process that takes
 * over continues, waits included.
 */
export class SearchConsoleJob {
  readonly #options: SearchConsoleJobOptions;
  readonly #job: LeaderJob;
  readonly #accounts: Accounts;
  readonly #connections: Mirror<Connection>;
  readonly #stopFollowing: () => void;
  readonly #stopped = new AbortController();
  readonly #semaphore = new Semaphore(SYNCS_MAX);
  /** By key: the connection's client and its record as last read or written here. */
  readonly #known = new Map<string, KnownConnection>();
  #sweptMs = Number.NEGATIVE_INFINITY;

  private constructor(
    options: SearchConsoleJobOptions,
    accounts: Accounts,
    connections: Mirror<Connection>,
    stopFollowing: () => void,
  ) {
    this.#options = options;
    this.#accounts = accounts;
    this.#connections = connections;
    this.#stopFollowing = stopFollowing;
    this.#job = new LeaderJob({
      ...options,
      name: 'search-console',
      intervalMs: LOOK_EVERY_MS,
      backoff: PASS_BACKOFF,
      pass: () => this.#pass(),
      standBy: () => this.#standBy(),
    });
    connections.onChange((after) => {
      if (after === undefined) this.#sweptMs = Number.NEGATIVE_INFINITY;
      this.#job.wake();
    });
  }

  /** Starts to look for work. */
  static async start(options: SearchConsoleJobOptions): Promise<SearchConsoleJob> {
    const accounts = await Accounts.open(options.bus, options.log);
    const connections = new Mirror<Connection>(CONNECTION_PREFIX, connectionSchema);
    const stop = await followBucket(options.control, [connections], options.log);
    const job = new SearchConsoleJob(options, accounts, connections, stop);
    job.#job.start();
    return job;
  }

  /** Aborts the current fetch: the next leader repeats it. */
  async stop(): Promise<void> {
    const stopped = this.#job.stop();
    this.#stopped.abort();
    await stopped;
    this.#stopFollowing();
    this.#accounts.stop();
  }

  /** Looks for another time to begin with, for tests that move the clock. */
  wake(): void {
    this.#job.wake();
  }

  /** A step for each connection that has work, until none has. New connections join between two rounds. */
  async #pass(): Promise<void> {
    let hasMoved = true;
    while (hasMoved) {
      const keys = [...this.#connections.entries()].map(({ key }) => key);
      const steps = keys.map((key) => this.#semaphore.run(() => this.#step(key)));
      const outcomes = await Promise.allSettled(steps);
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      hasMoved = outcomes.some((outcome) => outcome.status === 'fulfilled' && outcome.value);
      this.#show();
      this.#job.throwIfOver();
    }
    await this.#sweep();
  }

  /** Does the due work of a connection, a day of its backfill at most. False when nothing is due. */
  async #step(key: string): Promise<boolean> {
    this.#job.throwIfOver();
    const entry = this.#connections.entry(key);
    if (entry === undefined || !this.#isLive(entry)) return false;
    const { syncs, clock, intervalMs } = this.#options;
    const known = this.#knownOf(entry);
    try {
      const stored = known.stored ?? (await this.#read(entry));
      known.stored = stored;
      const work = dueWork(stored.sync, entry.value, { nowMs: clock.nowMs(), intervalMs });
      if (work.kind === 'wait') return false;
      if (known.client === undefined) throw new GoogleError('unreadable', messageOf('unreadable'), {});
      const { stores, metrics, pageRows = PAGE_ROWS } = this.#options;
      const store = stores.ofSite(entry.value.storedId);
      const throwIfOver = () => this.#throwIfOver(entry);
      const deps = { store, syncs, clock, client: known.client, metrics, pageRows, throwIfOver };
      const before = stored.sync.failure;
      known.stored = undefined;
      known.stored = await runStep(deps, entry.value, stored, work);
      if (before !== null)
        this.#options.log.info(
          { connection: key, attempts: before.attempts },
          'search console: succeeded again',
        );
      return true;
    } catch (error) {
      return this.#failed(entry, known, error);
    }
  }

  #knownOf({ key, revision, value }: Entry<Connection>): KnownConnection {
    const before = this.#known.get(key);
    if (before?.revision === revision) return before;
    const { secretsKey, baseUrl, requestMaxMs: timeoutMs = REQUEST_MAX_MS, metrics } = this.#options;
    const credentials = credentialsOf(value, secretsKey);
    const client =
      credentials === undefined
        ? undefined
        : new GoogleClient({
            credentials,
            baseUrl,
            timeoutMs,
            stopped: this.#stopped.signal,
            onRequest: () => metrics.requests.add(),
          });
    const known: KnownConnection = { revision, client, stored: undefined };
    this.#known.set(key, known);
    return known;
  }

  /** The record; a new one for a site that has none, or that had another property. */
  async #read({ key, value }: Entry<Connection>): Promise<StoredSync & { readonly sync: Sync }> {
    const { syncs, clock, backfillDays } = this.#options;
    const { sync, revision } = await readSync(syncs, key);
    if (sync?.siteUrl === value.siteUrl) return { sync, revision };
    const first = firstSync(value, { nowMs: clock.nowMs(), backfillDays });
    return { sync: first, revision: await writeSync(syncs, key, { sync: first, revision }) };
  }

  /** Notes a failure in the record, where customers see it. Errors of the bus fail the pass. */
  async #failed(entry: Entry<Connection>, known: KnownConnection, error: unknown): Promise<boolean> {
    known.stored = undefined;
    // The record says what is next, and a deleted connection needs no record.
    if (error instanceof SyncOvertakenError || error instanceof GoneError) return false;
    if (error instanceof JobOverError || error instanceof BusError) throw error;
    if (this.#stopped.signal.aborted) throw new JobOverError('stopping');
    const reason = failureOf(error);
    const { metrics, log, clock, random, syncs } = this.#options;
    const { sync, revision } = await this.#read(entry);
    const attempts = (sync.failure?.attempts ?? 0) + 1;
    const nowMs = clock.nowMs();
    const askedMs = error instanceof GoogleError ? Math.min(error.retryAfterMs, RETRY_AFTER_MAX_MS) : 0;
    const waitMs = Math.max(askedMs, backoffMs(SYNC_BACKOFFS[reason], attempts - 1, random()));
    metrics.failures[reason].add();
    if (sync.failure?.reason !== reason)
      log[reason === 'failed' ? 'error' : 'warn'](
        { connection: entry.key, reason, error: reasonOf(error) },
        'search console: fetching failed, retrying',
      );
    const failure = {
      reason,
      message: messageOf(reason),
      since: sync.failure?.since ?? new Date(nowMs).toISOString(),
      attempts,
      nextTryAt: new Date(nowMs + waitMs).toISOString(),
    };
    const next = { ...sync, triedAs: entry.value.updatedAt, failure };
    try {
      known.stored = { sync: next, revision: await writeSync(syncs, entry.key, { sync: next, revision }) };
    } catch (overtaken) {
      if (!(overtaken instanceof SyncOvertakenError)) throw overtaken;
    }
    return false;
  }

  /** True if the site exists and is not being deleted. */
  #isLive({ value: { projectId, storedId } }: Entry<Connection>): boolean {
    return this.#accounts.site(projectId)?.storedId === storedId;
  }

  #throwIfOver(entry: Entry<Connection>): void {
    this.#job.throwIfOver();
    if (this.#connections.entry(entry.key)?.revision !== entry.revision || !this.#isLive(entry))
      throw new GoneError(`${entry.key} has changed`);
  }

  /**
   * Removes the records of connections that were removed. It reads the bucket of connections itself, because the mirror may
   * not know one yet that another process has begun with.
   */
  async #sweep(): Promise<void> {
    const { syncs, control } = this.#options;
    const nowMs = performance.now();
    if (nowMs - this.#sweptMs < SWEEP_EVERY_MS) return;
    for (const key of await syncs.keys()) {
      this.#job.throwIfOver();
      if (this.#connections.get(key) !== undefined || (await control.get(key))?.bytes !== undefined) continue;
      await syncs.remove(key);
      this.#known.delete(key);
    }
    this.#sweptMs = nowMs;
  }

  /** Another process leads, and writes the records. */
  #standBy(): void {
    this.#known.clear();
    this.#show();
  }

  #show(): void {
    const { clock, metrics } = this.#options;
    const syncs = [...this.#known]
      .filter(([key]) => this.#connections.get(key) !== undefined)
      .flatMap(([, { stored }]) => (stored === undefined ? [] : [stored.sync]));
    const ages = syncs.flatMap(({ lastSyncedAt }) =>
      lastSyncedAt === null ? [] : [clock.nowMs() - Date.parse(lastSyncedAt)],
    );
    metrics.failing.set(syncs.filter(({ failure }) => failure !== null).length);
    metrics.successAgeSeconds.set(Math.max(0, ...ages) / 1000);
  }
}

/** The connection was changed or removed, or its site is being deleted. */
class GoneError extends Error {
  override readonly name = 'GoneError';
}

function failureOf(error: unknown): SyncFailure {
  if (error instanceof GoogleError) return error.reason;
  return error instanceof StoreError && error.kind === 'retryable' ? 'store-away' : 'failed';
}
