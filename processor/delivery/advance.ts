import { unreachable } from '../../infra/assert.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import type { Semaphore } from '../../infra/concurrency/semaphore.ts';
import { BucketError } from '../../infra/object-store/object-store.ts';
import { type Delivery, type DeliveryStep, firstDelivery, type Integration } from '../integration.ts';
import { laneProgress } from '../lane/lane-progress.ts';
import { readDelivery, writeDelivery } from './delivery-records.ts';
import { manifestKeyOf, manifestOf } from './manifest.ts';
import { changeProgress, type PlanDeps, planBackfill, planNew, rowsOfStep } from './plan.ts';
import { type DeliveryBucket, removeOrphans, type StepFileDeps, writeFiles } from './step-files.ts';

export interface DeliveryDeps extends PlanDeps, Omit<StepFileDeps, 'bucket'> {
  /** The bucket of `Delivery` records. */
  readonly deliveries: KeyedBytes;
  readonly planSemaphore: Semaphore;
  /** The bucket of an integration, which the caller closes; undefined when its secret cannot be decrypted. */
  readonly openBucket: (integration: Integration) => DeliveryBucket | undefined;
}

/** The secret of an integration was sealed with another key. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/**
 * The outcome of one move. `moved`: there may be more to do. `caught-up`: everything that was stored when this move or
 * the one before it began is delivered. `idle`: there is nothing to do.
 */
export type Moved = 'moved' | 'caught-up' | 'idle';

/** One process's knowledge of its own attempts; not stored. */
export interface Tries {
  /** A step that began in this process and has not failed: it cannot have left orphans. */
  clean: { readonly sequence: number; readonly beganMs: number } | undefined;
}

/**
 * Makes the next move of an integration. The move follows only from the delivery's record, and its outcome is noted
 * there:
 *
 *     nothing begun ──▶ declared ──▶ files are in the bucket, decided ──▶ manifest is there, committed
 *
 * A process that crashes or is overtaken leaves a record from which the same move is repeated. Files may be written
 * twice, under names with their hash. Compare-and-set makes one list of files win for good, so every process writes the
 * same manifest, however late, and no purge can come between a manifest and its files.
 *
 * @param isDue look for new events; otherwise a backfill continues
 * @throws {OvertakenError} when another process made a move meanwhile
 * @throws {UnreadableError}
 * @throws {BucketError}
 * @throws {StoreError}
 * @throws {BusError}
 */
export async function advance(
  deps: DeliveryDeps,
  integration: Integration,
  tries: Tries,
  isDue: boolean,
): Promise<Moved> {
  const { delivery, revision } = await readDelivery(deps.deliveries, integration.id);
  if (delivery === undefined) {
    const flushed = (await laneProgress(deps.laneRecords, deps.lanes)).flushed;
    await writeDelivery(deps.deliveries, firstDelivery(integration.id, flushed), revision);
    return 'moved';
  }
  if (delivery.step !== null)
    return finish(deps, integration, tries, { delivery, step: delivery.step, revision });
  if (delivery.sequence === 0) {
    const sequence = await sequenceInBucket(deps, integration);
    if (sequence > 0) {
      await writeDelivery(deps.deliveries, { ...delivery, sequence }, revision);
      return 'moved';
    }
  }
  const isNew = isDue || delivery.partial !== undefined;
  const planned = await deps.planSemaphore.run(() =>
    isNew ? planNew(deps, integration, delivery) : planBackfill(deps, integration, delivery),
  );
  if (planned === undefined) return 'idle';
  const beganMs = performance.now();
  await writeDelivery(deps.deliveries, planned, revision);
  if (planned.step === null) return isNew ? 'caught-up' : 'moved';
  tries.clean = { sequence: planned.step.sequence, beganMs };
  deps.crashPoint('delivery:after-declare');
  return 'moved';
}

/** No manifest is larger. */
const MANIFEST_MAX_BYTES = 67_108_864;

/**
 * The last manifest that an earlier delivery of the integration left in its bucket: its record was lost, or the
 * integration was deleted and restored from a backup. Existing manifests are never overwritten. A key without
 * permission to read finds none.
 */
async function sequenceInBucket(
  deps: Pick<DeliveryDeps, 'openBucket'>,
  integration: Integration,
): Promise<number> {
  const bucket = openedBucket(deps, integration);
  const isThere = async (sequence: number) =>
    (await bucket.get(manifestKeyOf(integration, sequence), MANIFEST_MAX_BYTES)) !== undefined;
  try {
    // There are no gaps, so the number can be bisected.
    let known = 0;
    let beyond = 1;
    while (await isThere(beyond)) [known, beyond] = [beyond, beyond * 2];
    while (beyond - known > 1) {
      const middle = Math.floor((known + beyond) / 2);
      if (await isThere(middle)) known = middle;
      else beyond = middle;
    }
    return known;
  } catch (error) {
    if (error instanceof BucketError && error.failure === 'denied') return 0;
    throw error;
  } finally {
    bucket.close();
  }
}

function openedBucket(
  { openBucket }: Pick<DeliveryDeps, 'openBucket'>,
  integration: Integration,
): DeliveryBucket {
  const bucket = openBucket(integration);
  if (bucket === undefined) throw new UnreadableError('the secret was sealed with another key');
  return bucket;
}

interface Begun {
  readonly delivery: Delivery;
  readonly step: DeliveryStep;
  readonly revision: number;
}

async function finish(
  deps: DeliveryDeps,
  integration: Integration,
  tries: Tries,
  { delivery, step, revision }: Begun,
): Promise<Moved> {
  const bucket = openedBucket(deps, integration);
  const clean = tries.clean?.sequence === step.sequence ? tries.clean : undefined;
  // Until the move has succeeded.
  tries.clean = undefined;
  try {
    if (step.files === null) {
      const rows = rowsOfStep(integration, delivery);
      const files = await writeFiles({ ...deps, bucket }, integration, step, rows);
      await writeDelivery(
        deps.deliveries,
        { ...delivery, step: { ...step, files }, failure: null },
        revision,
      );
      deps.crashPoint('delivery:after-decide');
      tries.clean = clean;
      return 'moved';
    }
    const manifest = encodeJson(manifestOf(integration, delivery));
    await bucket.put(manifestKeyOf(integration, step.sequence), manifest, {
      contentType: 'application/json',
    });
    deps.crashPoint('delivery:after-manifest');
    if (clean === undefined) await removeOrphans(bucket, integration, step);
    const committed = committedOf(delivery, step, new Date(deps.clock.nowMs()).toISOString());
    await writeDelivery(deps.deliveries, committed, revision);
    deps.crashPoint('delivery:after-commit');
    deps.metrics.steps[step.kind].add();
    deps.metrics.rows.add(committed.rows - delivery.rows);
    if (clean !== undefined) deps.metrics.stepSeconds.observe((performance.now() - clean.beganMs) / 1000);
    return step.kind === 'new' && step.restFrom === null ? 'caught-up' : 'moved';
  } finally {
    bucket.close();
  }
}

/** The record after the manifest of its step is in the bucket. */
function committedOf(delivery: Delivery, step: DeliveryStep, committedAt: string): Delivery {
  const files = step.files ?? [];
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const { partial: _, ...rest } = delivery;
  const committed = {
    ...rest,
    step: null,
    failure: null,
    sequence: step.sequence,
    committedAt,
    files: delivery.files + files.length,
    rows: delivery.rows + rows,
    bytes: delivery.bytes + bytes,
  };
  switch (step.kind) {
    case 'new': {
      const { flushed, until, restFrom } = step;
      if (restFrom !== null) return { ...committed, partial: { flushed, until, fromHour: restFrom } };
      return { ...committed, flushed, deliveredUntil: until };
    }
    case 'backfill': {
      const backfilled = { ...committed, backfilledDays: [...delivery.backfilledDays, step.day] };
      const progress = delivery.backfills.find(({ id }) => id === step.backfillId);
      if (progress === undefined) return backfilled;
      const daysDone = progress.daysDone + 1;
      const finishedAt = daysDone === progress.daysTotal ? committedAt : null;
      return changeProgress(backfilled, step.backfillId, {
        daysDone,
        finishedAt,
        rows: progress.rows + rows,
      });
    }
    default:
      return unreachable(step);
  }
}
