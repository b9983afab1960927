import { Accounts } from '../../infra/accounts/accounts.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { followBucket, Mirror } from '../../infra/bus/mirror.ts';
import type { Backoff } from '../../infra/concurrency/backoff.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { Semaphore } from '../../infra/concurrency/semaphore.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import { INTEGRATION_PREFIX, type Integration, integrationSchema } from '../integration.ts';
import type { DeliveryDeps } from './advance.ts';
import { DELIVERY_LIMITS, type DeliveryLimits } from './limits.ts';
import { DELIVERY_BACKOFF, type RunnerState, runIntegration } from './runner.ts';
import type { Bucket } from './step-files.ts';

/** Nothing tells that the work became ours but a look. */
const LOOK_EVERY_MS = 1_000;
const SWEEP_EVERY_MS = 60_000;
/** Files that are made or sent at once, each of some megabytes. */
const FILES_MAX = 4;
/** Questions to the store for what is to be done next: few at once, for flushes use the same connections. */
const PLANS_MAX = 2;

export interface DelivererOptions
  extends Omit<DeliveryDeps, 'fileSemaphore' | 'planSemaphore' | 'throwIfStopping' | 'limits'> {
  readonly bus: Bus;
  /** The bucket of `Integration` records. */
  readonly control: KeyedBytes;
  /** How often what is new is brought. */
  readonly intervalMs: number;
  readonly random: () => number;
  readonly log: Logger;
  /** Whether it is ours to do. Two that do it at once do no harm, see `advance`. */
  readonly isOurs: () => boolean;
  readonly limits?: DeliveryLimits;
  readonly backoff?: Backoff;
}

interface Runner {
  readonly notify: Notify;
  readonly state: RunnerState;
  readonly ended: Promise<void>;
}

/** Brings the events of sites to the buckets of their customers, each integration at its own pace. */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #parts: Omit<DeliveryDeps, 'throwIfStopping'>;
  readonly #accounts: Accounts;
  readonly #integrations: Mirror<Integration>;
  readonly #stopFollowing: () => void;
  readonly #runners = new Map<string, Runner>();
  readonly #buckets = new Set<Bucket>();
  readonly #notify = new Notify();
  #sweptMs = Number.NEGATIVE_INFINITY;
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();

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
    this.#parts = {
      ...options,
      fileSemaphore: new Semaphore(FILES_MAX),
      planSemaphore: new Semaphore(PLANS_MAX),
      limits: options.limits ?? DELIVERY_LIMITS,
      openBucket: (integration) => this.#open(integration),
    };
    integrations.onChange((after, before) => {
      const key = after?.key ?? before?.key;
      if (key !== undefined) this.#runners.get(key)?.notify.wake();
      if (after === undefined) this.#sweepNow();
      else this.#notify.wake();
    });
  }

  /** Starts to look for work. */
  static async start(options: DelivererOptions): Promise<Deliverer> {
    const accounts = await Accounts.open(options.bus, options.log);
    const integrations = new Mirror<Integration>(INTEGRATION_PREFIX, integrationSchema);
    const stop = await followBucket(options.control, [integrations], options.log);
    const deliverer = new Deliverer(options, accounts, integrations, stop);
    deliverer.#running = deliverer.#run();
    return deliverer;
  }

  /** Breaks off what is being sent: whoever comes next does it again. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#notify.end();
    for (const { notify } of this.#runners.values()) notify.end();
    for (const bucket of this.#buckets) bucket.close();
    await this.#running;
    await Promise.all([...this.#runners.values()].map(({ ended }) => ended));
    this.#stopFollowing();
    this.#accounts.stop();
  }

  async #run(): Promise<void> {
    const { log, isOurs } = this.#options;
    while (!this.#isStopping) {
      if (isOurs()) {
        for (const { key } of this.#integrations.entries())
          if (!this.#runners.has(key)) this.#startRunner(key);
        try {
          await this.#sweep();
        } catch (error) {
          log.warn({ reason: reasonOf(error) }, 'delivery: records that are left over stay for now');
        }
      }
      this.#show();
      await this.#notify.sleep(LOOK_EVERY_MS);
    }
  }

  #startRunner(key: string): void {
    const { intervalMs, random, log, backoff = DELIVERY_BACKOFF } = this.#options;
    const notify = new Notify();
    const state: RunnerState = { untilMs: undefined, failed: undefined, isPaused: false };
    const ended = runIntegration({
      parts: this.#parts,
      isOver: () => this.#isStopping || !this.#options.isOurs(),
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
    this.#notify.wake();
  }

  /**
   * Removes the records of integrations that were removed. The mirror of a process may not know of an integration yet, with
   * which another process has begun: its position must not be lost, so the bucket itself is asked.
   */
  async #sweep(): Promise<void> {
    const { deliveries, control } = this.#options;
    const nowMs = performance.now();
    if (nowMs - this.#sweptMs < SWEEP_EVERY_MS) return;
    this.#sweptMs = nowMs;
    for (const key of await deliveries.keys()) {
      if (this.#integrations.get(key) !== undefined || this.#runners.has(key)) continue;
      if ((await control.get(key))?.bytes === undefined) await deliveries.remove(key);
    }
  }

  #show(): void {
    const { clock, metrics } = this.#options;
    const states = [...this.#runners.values()].map(({ state }) => state).filter(({ isPaused }) => !isPaused);
    const lags = states.flatMap(({ untilMs }) => (untilMs === undefined ? [] : [clock.nowMs() - untilMs]));
    metrics.lagSeconds.set(Math.max(0, ...lags) / 1000);
    metrics.failing.set(states.filter(({ failed }) => failed !== undefined).length);
  }

  #open(integration: Integration): Bucket | undefined {
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
