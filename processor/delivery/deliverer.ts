import { Accounts } from '../../infra/accounts/accounts.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { followBucket, Mirror } from '../../infra/bus/mirror.ts';
import type { Backoff } from '../../infra/concurrency/backoff.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { Semaphore } from '../../infra/concurrency/semaphore.ts';
import { INTEGRATION_PREFIX, type Integration, integrationSchema } from '../integration.ts';
import { type LeaderDeps, LeaderJob } from '../leader-job/leader-job.ts';
import { DELIVERY_LIMITS, type DeliveryLimits } from './limits.ts';
import { DELIVERY_BACKOFF, type RunnerOptions, type RunnerState, runIntegration } from './runner.ts';
import type { DeliveryBucket } from './step-files.ts';

/** No event announces that this process became the leader. */
const LOOK_EVERY_MS = 1_000;
const SWEEP_EVERY_MS = 60_000;
const BACKOFF: Backoff = { firstMs: 1_000, maxMs: 10_000 };
/** Files that are made or sent concurrently, each of several megabytes. */
const FILES_MAX = 4;
/** Concurrent queries to the store for due work: few, because flushes use the same connections. */
const PLANS_MAX = 2;

export interface DelivererOptions
  extends LeaderDeps,
    Omit<RunnerOptions['deps'], 'fileSemaphore' | 'planSemaphore' | 'limits'> {
  readonly bus: Bus;
  /** The bucket of `Integration` records. */
  readonly control: KeyedBytes;
  /** Interval at which new events are delivered. */
  readonly intervalMs: number;
  readonly limits?: DeliveryLimits;
  readonly backoff?: Backoff;
}

interface Runner {
  readonly notify: Notify;
  readonly state: RunnerState;
  readonly ended: Promise<void>;
}

/** Delivers the events of sites to the buckets of their customers, each integration at its own pace. */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #job: LeaderJob;
  readonly #deps: RunnerOptions['deps'];
  readonly #accounts: Accounts;
  readonly #integrations: Mirror<Integration>;
  readonly #stopFollowing: () => void;
  readonly #runners = new Map<string, Runner>();
  readonly #buckets = new Set<DeliveryBucket>();
  #sweptMs = Number.NEGATIVE_INFINITY;

  private constructor(
    options: DelivererOptions,
    accounts: Accounts,
    integrations: Mirror<Integration>,
    stopFollowing: () => void,
  ) {
    this.#options = options;
    this.#accounts = accounts;
    this.#integrations = integrations;
    this.#stopFollowing = stopFollowing;
    this.#deps = {
      ...options,
      fileSemaphore: new Semaphore(FILES_MAX),
      planSemaphore: new Semaphore(PLANS_MAX),
      limits: options.limits ?? DELIVERY_LIMITS,
      openBucket: (integration) => this.#open(integration),
    };
    this.#job = new LeaderJob({
      ...options,
      name: 'delivery',
      intervalMs: LOOK_EVERY_MS,
      backoff: BACKOFF,
      pass: () => this.#pass(),
      standBy: () => this.#show(),
    });
    integrations.onChange((after, before) => {
      const key = after?.key ?? before?.key;
      if (key !== undefined) this.#runners.get(key)?.notify.wake();
      if (after === undefined) this.#sweepNow();
      else this.#job.wake();
    });
  }

  /** Starts to look for work. */
  static async start(options: DelivererOptions): Promise<Deliverer> {
    const accounts = await Accounts.open(options.bus, options.log);
    const integrations = new Mirror<Integration>(INTEGRATION_PREFIX, integrationSchema);
    const stop = await followBucket(options.control, [integrations], options.log);
    const deliverer = new Deliverer(options, accounts, integrations, stop);
    deliverer.#job.start();
    return deliverer;
  }

  /** Aborts the current transfer: the next leader repeats it. */
  async stop(): Promise<void> {
    const stopped = this.#job.stop();
    for (const { notify } of this.#runners.values()) notify.end();
    for (const bucket of this.#buckets) bucket.close();
    await stopped;
    await Promise.all([...this.#runners.values()].map(({ ended }) => ended));
    this.#stopFollowing();
    this.#accounts.stop();
  }

  async #pass(): Promise<void> {
    for (const { key } of this.#integrations.entries()) if (!this.#runners.has(key)) this.#startRunner(key);
    this.#show();
    await this.#sweep();
  }

  #startRunner(key: string): void {
    const { intervalMs, random, log, backoff = DELIVERY_BACKOFF } = this.#options;
    const notify = new Notify();
    const state: RunnerState = { untilMs: undefined, failed: undefined, isPaused: false };
    const ended = runIntegration({
      deps: this.#deps,
      isOver: () => this.#job.isOver,
      key,
      integrations: this.#integrations,
      accounts: this.#accounts,
      intervalMs,
      backoff,
      random,
      log,
      notify,
      state,
    }).finally(() => {
      this.#runners.delete(key);
      if (this.#integrations.get(key) === undefined) this.#sweepNow();
    });
    this.#runners.set(key, { notify, state, ended });
  }

  #sweepNow(): void {
    this.#sweptMs = Number.NEGATIVE_INFINITY;
    this.#job.wake();
  }

  /**
   * Removes the deliveries of integrations that were removed. It reads the bucket of integrations itself: the mirror may not
   * know an integration yet whose delivery another process has begun, and that position must not be lost.
   */
  async #sweep(): Promise<void> {
    const { deliveries, control } = this.#options;
    const nowMs = performance.now();
    if (nowMs - this.#sweptMs < SWEEP_EVERY_MS) return;
    const sweptBeforeMs = this.#sweptMs;
    this.#sweptMs = nowMs;
    try {
      for (const key of await deliveries.keys()) {
        this.#job.throwIfOver();
        if (this.#integrations.get(key) !== undefined || this.#runners.has(key)) continue;
        if ((await control.get(key))?.bytes === undefined) await deliveries.remove(key);
      }
    } catch (error) {
      this.#sweptMs = sweptBeforeMs;
      throw error;
    }
  }

  #show(): void {
    const { clock, metrics } = this.#options;
    const states = [...this.#runners.values()].map(({ state }) => state).filter(({ isPaused }) => !isPaused);
    const lags = states.flatMap(({ untilMs }) => (untilMs === undefined ? [] : [clock.nowMs() - untilMs]));
    metrics.lagSeconds.set(Math.max(0, ...lags) / 1000);
    metrics.failing.set(states.filter(({ failed }) => failed !== undefined).length);
  }

  #open(integration: Integration): DeliveryBucket | undefined {
    const bucket = this.#options.openBucket(integration);
    if (bucket === undefined) return undefined;
    this.#buckets.add(bucket);
    return {
      put: (key, bytes, about) => bucket.put(key, bytes, about),
      get: (key, maxBytes) => bucket.get(key, maxBytes),
      list: (prefix, max) => bucket.list(prefix, max),
      remove: (key) => bucket.remove(key),
      close: () => {
        this.#buckets.delete(bucket);
        bucket.close();
      },
    };
  }
}
