import { openBatch } from '../fold/batch.ts';
import { writeMarkerRows } from '../fold/session-rows.ts';
import type { SetAside } from '../fold/set-aside.ts';
import { EVENTS_TABLE } from '../rows.ts';
import { type FlushOptions, insertSessions, insertUntilDone, ofFlush, persist } from './flush.ts';
import { isPoison, refusedSites } from './refused-sites.ts';
import { nextSetAside, SetAsideError, setAsideWithEnds } from './set-aside.ts';
import type { CutBatch } from './slices.ts';

// A flush that the store refuses because of data that sites sent:
//
//   refused ─▶ record: their events are set aside ─▶ the lane restarts ─▶ the flush is completed without rows
//           ─▶ record: its messages are the next flush, declared up to the same one ─▶ they are folded without those events
//
// The next number makes the order safe: whatever an earlier owner still does to rows of the refused flush, it reaches no row
// of the flush that counts. The same last message keeps the places of events in the feeds, which may have them already.

/**
 * When the store refuses the flush because of sites' data, records which of their events are left out, so the lane can continue from its
 * checkpoint.
 * @throws {SetAsideError} when this is recorded, else the given error
 */
export async function leaveOutRefused(
  options: FlushOptions,
  error: unknown,
  batch: CutBatch,
): Promise<never> {
  if (!isPoison(error)) throw error;
  const { ownership, lane, log, metrics, crashPoint } = options;
  const entries: SetAside[] = [];
  const { sequence, clockMs } = batch.checkpoint;
  const at = { cutSequence: ownership.checkpoint.sequence, clockMs };
  for (const { projectId, reason } of await refusedSites(options, batch)) {
    const failure = { projectId, sequence, isInSession: true, reason };
    const known = [...ownership.setAside, ...entries];
    const entry = nextSetAside(known, { ...at, failure }) ?? setAsideWithEnds(known, failure);
    if (entry === undefined) throw error;
    entries.push(entry);
  }
  if (entries.length === 0) throw error;
  crashPoint('refusal:after-search');
  await persist(options, 'record of a refused flush', () => ownership.refuse(entries));
  crashPoint('refusal:after-record');
  metrics.siteFailures.add();
  for (const { first, last, reason } of entries)
    log.error({ lane, first, last, reason }, 'what a site sent cannot be stored and is set aside');
  throw new SetAsideError(error.message, { cause: error });
}

/** Completes a refused flush without rows, if there is one, so that its messages become the next flush. */
export async function completeRefused(options: FlushOptions): Promise<void> {
  const { ownership, store, lane, crashPoint } = options;
  const { intent, isRefused } = ownership;
  if (!isRefused || intent === null) return;
  const { flushNumber } = intent;
  const flush = ofFlush(lane, flushNumber);
  // No reader has these rows: the marker of the flush is not in the store.
  await insertUntilDone(options, EVENTS_TABLE, async (attempt) => {
    const rows = await store.query(
      `SELECT 1 AS found FROM ${EVENTS_TABLE} WHERE ${flush.sql} LIMIT 1`,
      flush.parameters,
    );
    // After a lost answer, some replica may have yet to do it.
    if (rows.length > 0 || attempt > 0)
      await store.mutate({
        sql: `ALTER TABLE ${EVENTS_TABLE} DELETE WHERE ${flush.sql}`,
        parameters: flush.parameters,
      });
  });
  crashPoint('refusal:after-removal');
  const { sessions } = openBatch(flushNumber, 0);
  writeMarkerRows({ flushNumber, sessions }, lane);
  await insertSessions(options, { flushNumber, isRepeat: true, chunks: [sessions.writer.bytes()] });
  crashPoint('refusal:after-marker');
  await persist(options, 'record of a refused flush', () => ownership.passRefused());
  crashPoint('refusal:after-pass');
}
