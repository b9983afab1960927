import type { Accounts } from '../../infra/accounts/accounts.ts';
import type { Entry, Mirror } from '../../infra/bus/mirror.ts';
import { type Backoff, backoffMs } from '../../infra/concurrency/backoff.ts';
import type { Notify } from '../../infra/concurrency/notify.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import { BucketError } from '../../infra/object-store/object-store.ts';
import type { Store } from '../../infra/store/store.ts';
import type { PerShard } from '../../infra/store/store-shards.ts';
import type { Integration } from '../integration.ts';
import { advance, type DeliveryDeps, type Tries } from './advance.ts';
import { OvertakenError, readDelivery, writeDelivery } from './delivery-records.ts';
import { type Failed, failedOf } from './failure.ts';

export const DELIVERY_BACKOFF: Backoff = { firstMs: 1_000, maxMs: 300_000 };
/** Interval at which a suspended runner looks again, for changes that do not wake it. */
const SUSPENDED_LOOK_MS = 10_000;

/** Thrown where a runner has to end. */
class StoppingError extends Error {
  override readonly name = 'StoppingError';
}

/** State of a runner, read by the deliverer. */
export interface RunnerState {
  /** Everything that was stored at this time is delivered, in milliseconds since 1970; undefined before it is known. */
  untilMs: number | undefined;
  /** The present failure, if any. */
  failed: Failed | undefined;
  isPaused: boolean;
}

export interface RunnerOptions {
  readonly deps: Omit<DeliveryDeps, 'throwIfStopping' | 'store'> & { readonly stores: PerShard<Store> };
  /** True if the process ends, or another process leads. */
  readonly isOver: () => boolean;
  readonly key: string;
  readonly integrations: Mirror<Integration>;
  readonly accounts: Accounts;
  readonly intervalMs: number;
  readonly backoff: Backoff;
  readonly random: () => number;
  readonly log: Logger;
  /** Woken when the integration changes. */
  readonly notify: Notify;
  readonly state: RunnerState;
}

/**
 * Delivers the events of one integration, new ones at every interval and backfills in between, until the integration is
 * removed or the job is over. Every failure is retried.
 */
export async function runIntegration(options: RunnerOptions): Promise<void> {
  const { key, integrations, intervalMs, notify, state, isOver } = options;
  const isDone = () => isOver() || integrations.entry(key) === undefined;
  const deps = {
    ...options.deps,
    throwIfStopping: () => {
      if (isDone()) throw new StoppingError();
    },
  };
  const tries: Tries = { clean: undefined };
  let dueMs = 0;
  let attempts = 0;
  for (;;) {
    const entry = integrations.entry(key);
    if (entry === undefined || isOver()) return;
    state.isPaused = isSuspended(options, entry.value);
    if (state.isPaused) {
      await notify.sleep(SUSPENDED_LOOK_MS);
      continue;
    }
    try {
      const store = deps.stores.ofSite(entry.value.storedId);
      const moved = await advance({ ...deps, store }, entry.value, tries, performance.now() >= dueMs);
      if (attempts > 0 && moved !== 'idle') attempts = await recovered(options, entry.value.id, attempts);
      if (moved === 'caught-up') {
        dueMs = performance.now() + intervalMs;
        state.untilMs = await untilMsOf(deps, entry.value.id);
      }
      if (moved === 'idle') await notify.sleep(Math.max(1, dueMs - performance.now()));
    } catch (error) {
      // Errors while ending have no meaning for the bucket.
      if (isDone()) return;
      // Another process made a move: the record decides what is next.
      if (error instanceof OvertakenError) continue;
      attempts = await failed(options, { entry, error, attempts });
    }
  }
}

/** True if no step is begun or continued: the integration is paused, or its site is being deleted. */
function isSuspended({ accounts }: RunnerOptions, { paused, projectId, storedId }: Integration): boolean {
  return paused || accounts.site(projectId)?.storedId !== storedId;
}

async function untilMsOf(
  { deliveries }: Pick<DeliveryDeps, 'deliveries'>,
  id: string,
): Promise<number | undefined> {
  const { delivery } = await readDelivery(deliveries, id);
  const until = delivery?.deliveredUntil ?? null;
  return until === null ? undefined : Date.parse(until);
}

/** Zero, once the record shows no failure. A first move that does not touch the bucket proves nothing. */
async function recovered(
  { deps, key, log, state }: RunnerOptions,
  id: string,
  attempts: number,
): Promise<number> {
  const { delivery } = await readDelivery(deps.deliveries, id);
  if (delivery?.failure !== null) return attempts;
  state.failed = undefined;
  log.info({ integration: key, attempts }, 'delivery: succeeded again');
  return 0;
}

/** Notes a failure and waits, unless the integration was changed meanwhile; returns the number of failures in a row. */
async function failed(
  options: RunnerOptions,
  {
    entry,
    error,
    attempts,
  }: { readonly entry: Entry<Integration>; readonly error: unknown; readonly attempts: number },
): Promise<number> {
  const { deps, key, integrations, backoff, random, log, notify, state } = options;
  const known = failedOf(error);
  const waitMs = backoffMs(backoff, attempts, random());
  if (known !== undefined) {
    deps.metrics.failures[known.reason].add();
    if (state.failed?.reason !== known.reason) {
      // A bucket's own errors are for its customer to fix, so they are no errors of ours.
      const level = known.reason === 'failed' && !(error instanceof BucketError) ? 'error' : 'warn';
      log[level](
        { integration: key, reason: known.reason, error: reasonOf(error) },
        'delivery failed, retrying',
      );
    }
    state.failed = known;
    await noteFailure(deps, entry.value.id, { failed: known, attempts: attempts + 1, waitMs });
  }
  if (integrations.entry(key)?.revision === entry.revision) await notify.sleep(waitMs);
  return attempts + 1;
}

/** Writes the failure into the record, where customers see it. A change made meanwhile takes precedence. */
async function noteFailure(
  { deliveries, clock }: Pick<DeliveryDeps, 'deliveries' | 'clock'>,
  id: string,
  {
    failed: { reason, message },
    attempts,
    waitMs,
  }: { readonly failed: Failed; readonly attempts: number; readonly waitMs: number },
): Promise<void> {
  try {
    const { delivery, revision } = await readDelivery(deliveries, id);
    if (delivery === undefined) return;
    const nowMs = clock.nowMs();
    const since = delivery.failure?.since ?? new Date(nowMs).toISOString();
    const nextTryAt = new Date(nowMs + waitMs).toISOString();
    const failure = { reason, message, since, attempts, nextTryAt };
    await writeDelivery(deliveries, { ...delivery, failure }, revision);
  } catch {
    // The bus is unavailable, or the record has changed: the next attempt writes the state of that time.
  }
}
