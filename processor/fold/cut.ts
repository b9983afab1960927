import { type Batch, endRow, isEmpty, noteChange, openBatch } from './batch.ts';
import type { PartitionState } from './partition.ts';
import { writeMarkerRows, writeSessionRow } from './session-rows.ts';

/**
 * Ends a batch: writes the new state of every session that changed in it, and in the first shard the flush marker. The batch
 * of a flush without rows stays empty; `hasRows` says so of the flush, of which other shards may have rows. Nothing may be
 * written to a batch afterwards.
 */
export function closeBatch(state: PartitionState, batch: Batch, hasRows: boolean = !isEmpty(batch)): void {
  if (!hasRows) return;
  const { sessions } = state;
  for (const slot of batch.changed) {
    if (slot === 0) continue;
    writeSessionRow(batch.sessions.writer, state, slot, 1, batch.flushNumber);
    endRow(batch.sessions, sessions.site[slot] ?? 0);
    noteChange(batch, sessions.site[slot] ?? 0, sessions.startMs[slot] ?? 0);
    sessions.changedPlace[slot] = 0;
  }
  batch.changed.length = 0;
  if (state.shard.index === 0) writeMarkerRows(batch, state.partition);
}

/** The batch that follows a closed one, which ended at the partition's clock `clockMs`. */
export function nextBatch(batch: Batch, clockMs: number): Batch {
  return openBatch(batch.flushNumber + 1, clockMs);
}
