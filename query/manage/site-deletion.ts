import { type Site, type SiteDeletion, siteSchema } from '../../infra/accounts/accounts.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { RejectError } from '../reject.ts';

/** The delay between the deletion of a site and its purge. */
const PURGE_AFTER_MS = DAY_MS;

/** A deletion as it is returned. */
export interface DeletionShown extends Omit<SiteDeletion, 'isFinal'> {
  readonly restorable: boolean;
  /** Whole seconds until `purgeAt`; 0 once it has passed, and for a site that cannot be restored. */
  readonly remainingSeconds: number;
}

/** Deletes a site. A repeated deletion can only bring the purge forward; with `now` it becomes final. */
export function deletedSite(site: Site, nowMs: number, now: boolean): Site {
  const at = new Date(nowMs).toISOString();
  const purgeAt = now ? at : new Date(nowMs + PURGE_AFTER_MS).toISOString();
  const { deletion } = site;
  if (deletion === null) {
    const fresh = { status: 'waiting' as const, requestedAt: at, purgeAt, isFinal: now };
    return siteSchema.parse({ ...site, updatedAt: at, deletion: fresh });
  }
  if (!now || !isRestorable(deletion)) return site;
  const sooner = new Date(Math.min(Date.parse(deletion.purgeAt), nowMs)).toISOString();
  return { ...site, updatedAt: at, deletion: { ...deletion, purgeAt: sooner, isFinal: true } };
}

/**
 * Undoes the deletion of a site. Throws a `RejectError` if there is none, if it is final, or if its purge has begun. The first
 * writer of the record decides between a restore and the beginning of a purge (processor/purge/purger.ts).
 */
export function restoredSite(site: Site, nowMs: number): Site {
  const { id, deletion } = site;
  if (deletion === null) throw conflict(id, 'is not deleted');
  if (deletion.status !== 'waiting') throw conflict(id, 'cannot be restored, because its purge has begun');
  if (deletion.isFinal) throw conflict(id, 'was deleted with now=true, which cannot be undone');
  return { ...site, updatedAt: new Date(nowMs).toISOString(), deletion: null };
}

/** A deletion with the time that is left to undo it. */
export function shownDeletion({ isFinal, ...deletion }: SiteDeletion, nowMs: number): DeletionShown {
  const restorable = isRestorable({ ...deletion, isFinal });
  const leftMs = restorable ? Date.parse(deletion.purgeAt) - nowMs : 0;
  return { ...deletion, restorable, remainingSeconds: Math.max(0, Math.floor(leftMs / 1_000)) };
}

function isRestorable({ status, isFinal }: SiteDeletion): boolean {
  return status === 'waiting' && isFinal !== true;
}

function conflict(id: string, problem: string): RejectError {
  return new RejectError('conflict', `projectId: the site ${JSON.stringify(id)} ${problem}`);
}
