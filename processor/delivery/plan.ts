import { must } from '../../infra/assert.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import type { Clock } from '../../infra/clock.ts';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import type { Store } from '../../infra/store/store.ts';
import type { Backfill, Delivery, Integration } from '../integration.ts';
import { laneProgress } from '../lane/lane-progress.ts';
import { type FlushedRows, hoursOf, type TimeSpan } from './delivered-rows.ts';
import type { DeliveryLimits } from './limits.ts';

const DAY_HOURS = 24;
/** The end of the store's range of times. */
const ALL_TIME: TimeSpan = { fromMs: 0, toMs: 7_258_118_400_000 };

export interface PlanDeps {
  readonly store: Store;
  /** The bucket of lane records. */
  readonly laneRecords: KeyedBytes;
  readonly lanes: number;
  readonly clock: Clock;
  readonly limits: DeliveryLimits;
}

/** The rows of a step of this delivery. */
export function rowsOfStep({ storedId }: Pick<Integration, 'storedId'>, delivery: Delivery): FlushedRows {
  const step = must(delivery.step, 'a step was begun');
  return step.kind === 'new'
    ? { storedId, after: delivery.flushed, upTo: step.flushed }
    : { storedId, after: [], upTo: delivery.first };
}

/**
 * The delivery with its next step of new rows begun. Without new rows, everything that was in the store when this was
 * called counts as delivered.
 */
export async function planNew(
  { store, laneRecords, lanes, clock, limits }: PlanDeps,
  { storedId }: Integration,
  delivery: Delivery,
): Promise<Delivery> {
  const { partial, ...rest } = delivery;
  const until = partial?.until ?? new Date(clock.nowMs()).toISOString();
  const reached = partial?.flushed ?? (await laneProgress(laneRecords, lanes)).flushed;
  const flushed = reached.map((number, lane) => Math.max(number, delivery.flushed[lane] ?? 0));
  const found = await hoursOf(
    store,
    { storedId, after: delivery.flushed, upTo: flushed },
    { ...ALL_TIME, fromMs: (partial?.fromHour ?? 0) * HOUR_MS },
    { max: limits.stepHours + 1 },
  );
  if (found.length === 0) return { ...rest, flushed, deliveredUntil: until, failure: null };
  let taken = 0;
  for (let rows = 0; rows < limits.stepRows && taken < Math.min(found.length, limits.stepHours); taken += 1)
    rows += found[taken]?.rows ?? 0;
  const hours = found.slice(0, taken).map(({ hour }) => hour);
  const restFrom = found[taken]?.hour ?? null;
  const sequence = delivery.sequence + 1;
  return { ...delivery, step: { kind: 'new', sequence, flushed, until, hours, restFrom, files: null } };
}

/**
 * The delivery with the next day of a backfill begun, or with a backfill finished that has no days left; undefined when
 * every backfill is finished.
 */
export async function planBackfill(
  { store, clock }: PlanDeps,
  { storedId, backfills }: Integration,
  delivery: Delivery,
): Promise<Delivery | undefined> {
  const wanted = [...backfills].sort((a, b) => a.requestedAt.localeCompare(b.requestedAt));
  const backfill = wanted.find(({ id }) => (progressOf(delivery, id)?.finishedAt ?? null) === null);
  if (backfill === undefined) return undefined;
  const begun = withBackfill(delivery, backfill, wanted);
  const { daysDone, daysTotal } = must(progressOf(begun, backfill.id), 'the backfill was begun');
  const firstMs = Date.parse(backfill.from);
  const found = await hoursOf(
    store,
    { storedId, after: [], upTo: delivery.first },
    { fromMs: firstMs + daysDone * DAY_MS, toMs: firstMs + daysTotal * DAY_MS },
    { max: DAY_HOURS, exceptDays: delivery.backfilledDays.map((day) => Date.parse(day) / DAY_MS) },
  );
  const dayMs = found[0] === undefined ? undefined : Math.floor(found[0].hour / DAY_HOURS) * DAY_MS;
  if (dayMs === undefined) {
    const finishedAt = new Date(clock.nowMs()).toISOString();
    return changeProgress({ ...begun, failure: null }, backfill.id, { daysDone: daysTotal, finishedAt });
  }
  const hours = found.map(({ hour }) => hour).filter((hour) => hour * HOUR_MS < dayMs + DAY_MS);
  const day = new Date(dayMs).toISOString().slice(0, 10);
  const passed = changeProgress(begun, backfill.id, { daysDone: (dayMs - firstMs) / DAY_MS });
  const sequence = delivery.sequence + 1;
  const step = { kind: 'backfill', sequence, backfillId: backfill.id, day, hours, files: null } as const;
  return { ...passed, step };
}

type BackfillProgress = Delivery['backfills'][number];

function progressOf(delivery: Delivery, id: string): BackfillProgress | undefined {
  return delivery.backfills.find((progress) => progress.id === id);
}

/** Adds the progress of this backfill, and drops the progress of withdrawn backfills. */
function withBackfill(delivery: Delivery, backfill: Backfill, wanted: readonly Backfill[]): Delivery {
  const current = delivery.backfills.filter((progress) => wanted.some(({ id }) => id === progress.id));
  if (progressOf(delivery, backfill.id) !== undefined) return { ...delivery, backfills: current };
  const daysTotal = Math.round((Date.parse(backfill.to) - Date.parse(backfill.from)) / DAY_MS) + 1;
  const begun = { id: backfill.id, daysDone: 0, daysTotal, rows: 0, finishedAt: null };
  return { ...delivery, backfills: [...current, begun] };
}

/** The delivery with a change of one backfill's progress. */
export function changeProgress(delivery: Delivery, id: string, change: Partial<BackfillProgress>): Delivery {
  const backfills = delivery.backfills.map((one) => (one.id === id ? { ...one, ...change } : one));
  return { ...delivery, backfills };
}
