import type { StoredId } from '../../infra/accounts/ids.ts';
import type { ProfileId } from '../../ingest/event.ts';
import type { Batch } from './batch.ts';
import { deviceKeyOf } from './device-key.ts';
import type { EraseCommand } from './erase-command.ts';
import { runOf } from './interned.ts';
import { evicted } from './session.ts';
import { oldestSlot } from './session-table.ts';
import { visitorEntries } from './site-counters.ts';
import type { SliceState } from './slice-state.ts';
import { visitorHashOf } from './visitor.ts';

/**
 * Evicts the sessions that an erase command names, and everything else known of an erased site. The store gets the last
 * state of each session, so that a purge finds it; no later flush will mention it. Therefore an erase command ends its
 * flush: see `Folded.isErasing`.
 */
export function erase(
  state: SliceState,
  { projectId, profileId, beforeMs }: EraseCommand,
  batch: Batch,
): void {
  const run = runOf(projectId);
  const site = state.sites.idByText.get(run);
  // A site without sessions is not interned after a restart, but memory has its minutes and its event ids.
  if (site !== undefined) eraseSessions(state, site, { profileId, beforeMs }, batch);
  if (beforeMs !== null) return;
  if (profileId === null) evictSite(state, projectId, run);
  else evictVisitor(state, run, profileId);
}

function eraseSessions(
  state: SliceState,
  site: number,
  { profileId, beforeMs }: Pick<EraseCommand, 'profileId' | 'beforeMs'>,
  batch: Batch,
): void {
  const profile = profileId === null ? undefined : (state.profiles.idByText.get(runOf(profileId)) ?? -1);
  const { sessions } = state;
  for (let slot = oldestSlot(sessions); slot !== 0; ) {
    const newer = sessions.newer[slot] ?? 0;
    const isMeant =
      sessions.site[slot] === site &&
      (profile === undefined || sessions.profile[slot] === profile) &&
      (beforeMs === null || (sessions.endMs[slot] ?? 0) < beforeMs);
    if (isMeant) evicted(state, slot, batch);
    slot = newer;
  }
}

/** Minutes keep their counts, which identify no person, and lose one visitor. */
function evictVisitor(state: SliceState, run: string, profileId: ProfileId): void {
  const visitor = visitorHashOf(runOf(profileId));
  for (const { visitors } of state.counters.get(run)?.minutes.values() ?? [])
    for (const key of visitors.keys())
      if (visitors.get(key) === visitor && visitors.delete(key)) state.minuteVisitors -= 1;
}

function evictSite(state: SliceState, projectId: StoredId, run: string): void {
  const counters = state.counters.get(run);
  for (const minute of counters?.minutes.values() ?? []) state.minuteVisitors -= visitorEntries(minute);
  state.counters.delete(run);
  state.eventIds.deleteOwner(run);
  // A device's key begins with its site, length first.
  const start = deviceKeyOf(projectId, '').slice(0, -1);
  for (const key of state.grants.keys()) if (key.startsWith(start)) state.grants.delete(key);
}
