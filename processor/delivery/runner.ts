import type { Accounts } from '../../infra/accounts/accounts.ts';
import type { Entry, Mirror } from '../../infra/bus/mirror.ts';
import { type Backoff, backoffMs } from '../../infra/concurrency/backoff.ts';
import type { Notify } from '../../infra/concurrency/notify.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import { BucketError } from '../../infra/object-store/object-store.ts';
import type { Integration } from '../integration.ts';
import { advance, type DeliveryDeps, type Tries } from './advance.ts';
import { OvertakenError, readDelivery, writeDelivery } from './delivery-records.ts';
import { type Failed, failedOf } from './failure.ts';

export const DELIVERY_BACKOFF: Backoff = { firstMs: 1_000, maxMs: 300_000 };
/** How often somebody looks who has nothing to do until something changes that does not wake him. */
const SUSPENDED_LOOK_MS = 10_000;

/** Thrown where work is broken off. */
class StoppingError extends Error {
  override readonly name = 'StoppingError';
}

/** What others see of a runner. */
export interface RunnerState {
  /** Everything that was stored then is brought, in milliseconds since 1970; undefined while nothing is known. */
  untilMs: number | undefined;
  /** What failed last, if that is not over. */
  failed: Failed | undefined;
  isPaused: boolean;
}

export interface RunnerOptions {
  readonly deps: Omit<DeliveryDeps, 'throwIfStopping'>;
  /** Whether the process ends, or others are to do it. */
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
 * Brings the events of one integration to its bucket, at every interval what is new and in between what backfills want, until
 * the integration is removed or it is over. Whatever fails is tried again.
 */
export async function runIntegration(options: RunnerOptions): Promise<void> {
  const { key, integrations, intervalMs, notify, state, isOver } = options;
  const isDone = () => isOver() || integrations.entry(key) === undefined;
  const deps: DeliveryDeps = {
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
      const moved = await advance(deps, entry.value, tries, performance.now() >= dueMs);
      if (attempts > 0 && moved !== 'idle') attempts = await recovered(options, entry.value.id, attempts);
      if (moved === 'caught-up') {
        dueMs = performance.now() + intervalMs;
        state.untilMs = await untilMsOf(deps, entry.value.id);
      }
      if (moved === 'idle') await notify.sleep(Math.max(1, dueMs - performance.now()));
    } catch (error) {
      // What is broken off fails in many ways, none of which says anything of the bucket.
      if (isDone()) return;
      // Another process moved it: what is to be done now is in the record.
      if (error instanceof OvertakenError) continue;
      attempts = await failed(options, { entry, error, attempts });
    }
  }
}

/** Whether nothing is begun, nor taken up: it is paused, or its site is being deleted. */
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

/** Zero, once the record says that nothing fails; a first move that does not touch the bucket proves nothing. */
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

/** Notes a failure and waits, unless the integration was changed meanwhile; returns how many there were in a row. */
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
      // What a bucket answers is its customer's matter, whatever it is.
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

/** Writes into the record what failed, for those who look at it; another move that is made meanwhile matters more. */
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
    // The bus is away, or the record was moved on: the next try says what holds then.
  }
}
