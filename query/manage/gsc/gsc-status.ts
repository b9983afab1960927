import { addDays, type Connection, type Sync } from '../../../processor/search-console.ts';
import type { SyncShown } from './gsc-api.ts';

const NOTHING: SyncShown = {
  state: 'never-synced',
  backfill: null,
  lastSyncedAt: null,
  lastDay: null,
  preliminaryFrom: null,
  failure: null,
};

/**
 * Progress of a connection; `sync` is undefined until the processor has started on it. Progress for another property does not
 * count, and neither does a failure of earlier credentials.
 */
export function shownSync(
  { siteUrl, updatedAt }: Pick<Connection, 'siteUrl' | 'updatedAt'>,
  sync: Sync | undefined,
  isReadable: boolean,
): SyncShown {
  if (sync === undefined || sync.siteUrl !== siteUrl)
    return { ...NOTHING, state: isReadable ? 'never-synced' : 'unreadable' };
  const { backfill, lastSyncedAt, lastDay, settledThrough } = sync;
  const { daysDone, daysTotal } = backfill;
  const failure = sync.triedAs === updatedAt ? sync.failure : null;
  return {
    state: isReadable ? stateOf(sync, failure) : 'unreadable',
    backfill: { ...backfill, percent: Math.floor((daysDone * 100) / daysTotal) },
    lastSyncedAt,
    lastDay,
    preliminaryFrom: lastDay === null ? null : addDays(settledThrough, 1),
    failure,
  };
}

function stateOf({ backfill, lastSyncedAt }: Sync, failure: Sync['failure']): SyncShown['state'] {
  switch (failure?.reason) {
    case 'token-expired':
    case 'no-access':
    case 'quota':
    case 'unreadable':
      return failure.reason;
    case 'google-away':
    case 'store-away':
    case 'failed':
      return 'failing';
    case undefined:
      if (lastSyncedAt === null) return 'never-synced';
      return backfill.daysDone < backfill.daysTotal ? 'backfilling' : 'up-to-date';
  }
}
