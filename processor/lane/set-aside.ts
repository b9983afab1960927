import { HOUR_MS } from '../../infra/durations.ts';
import type { SetAside } from '../fold/set-aside.ts';
import type { SiteFailure } from './worker-tasks.ts';

/**
 * Number of messages of the lane from which a site's events are set aside after a failure, from its message on: for the first, second,
 * third and every further failure within `MEMORY_MS`. Each failure costs the lane a restart, so repeated failures soon cost almost no more.
 */
const MESSAGES = [1, 100, 10_000, 1_000_000] as const;
const MEMORY_MS = HOUR_MS;
/** Entries in the record of a lane, which is written several times a second. */
const ENTRIES_MAX = 64;

/** Events were set aside in an owner's lane; it continues from the checkpoint, and no longer folds these events. */
export class SetAsideError extends Error {
  override readonly name = 'SetAsideError';
}

/** A failure of a site, and where the lane is. */
export interface FailedAt {
  readonly failure: SiteFailure;
  /** The last message of the last flush that was cut. */
  readonly cutSequence: number;
  readonly clockMs: number;
}

/**
 * Returns the events to set aside so that the failure does not repeat; undefined when no message of the site can be its cause, or the list
 * is full. Nothing of a flush that was cut is set aside: it is repeated as it was.
 */
export function nextSetAside(
  known: readonly SetAside[],
  { failure, cutSequence, clockMs }: FailedAt,
): SetAside | undefined {
  const { projectId, sequence, isInSession, reason } = failure;
  const first = isInSession ? cutSequence + 1 : sequence;
  const earlier = known.filter((entry) => entry.projectId === projectId);
  const isCovered = earlier.some((entry) => entry.first <= first && sequence <= entry.last);
  if (isCovered || known.length >= ENTRIES_MAX) return undefined;
  const messages = MESSAGES[Math.min(earlier.length, MESSAGES.length - 1)] ?? 1;
  return { projectId, first, last: sequence + messages - 1, reason, atMs: clockMs };
}

/**
 * Returns the entry to set aside when the store refuses rows of a site whose messages are left out already: it leaves out the ends of
 * earlier sessions. Undefined when these are left out, too, or the list is full.
 */
export function setAsideWithEnds(
  known: readonly SetAside[],
  { projectId, sequence }: Pick<SiteFailure, 'projectId' | 'sequence'>,
): SetAside | undefined {
  const covering = known.filter(
    (entry) => entry.projectId === projectId && entry.first <= sequence && sequence <= entry.last,
  );
  const isCovered = covering.some(({ withoutEnds }) => withoutEnds === true);
  const entry = covering.at(-1);
  if (entry === undefined || isCovered || known.length >= ENTRIES_MAX) return undefined;
  return { ...entry, withoutEnds: true };
}

/** The entries still needed once everything up to a checkpoint is in the store. */
export function retainedSetAside(
  known: readonly SetAside[],
  checkpoint: { readonly sequence: number; readonly clockMs: number },
): readonly SetAside[] {
  return known.filter(
    ({ last, atMs }) => last > checkpoint.sequence || checkpoint.clockMs - atMs <= MEMORY_MS,
  );
}
