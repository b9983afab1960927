import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { Store } from '../../infra/store/store.ts';
import type { SiteHour } from '../fold/finalized.ts';

export const LATE_HOURS_TABLE = 'late_hours';
export const LATE_HOURS_COLUMNS = ['projectId', 'hour', 'partition', 'flushNumber', 'markedAt'] as const;
const BYTES_MAX = 67_108_864;

/** A flush, and the finalized hours that it changes. */
export interface LateFlush {
  readonly lane: number;
  readonly flushNumber: number;
  /** The site is empty in a row of no site. */
  readonly lateHours: readonly (SiteHour | { readonly projectId: ''; readonly hourMs: number })[];
  readonly nowMs: number;
}

/**
 * Marks the hours of a flush as changed. Idempotent; when the flush then brings no rows, the hours are rolled up once
 * more than needed.
 */
export async function markLateHours(store: Store, flush: LateFlush): Promise<void> {
  if (flush.lateHours.length === 0) return;
  const rows = encodeLateHours(flush);
  await store.insertRowBinary(LATE_HOURS_TABLE, LATE_HOURS_COLUMNS, [rows], undefined);
}

export function encodeLateHours({ lane, flushNumber, lateHours, nowMs }: LateFlush): Uint8Array {
  const writer = new RowBinaryWriter(BYTES_MAX);
  for (const { projectId, hourMs } of lateHours) {
    writer.string(projectId);
    writer.u32(hourMs / 1000);
    writer.u16(lane);
    writer.u32(flushNumber);
    writer.u32(Math.floor(nowMs / 1000));
  }
  return writer.bytes();
}
