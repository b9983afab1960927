import type { Client, Site } from '../../infra/accounts/accounts.ts';
import type { Entry, Mirror } from '../../infra/bus/mirror.ts';
import { RejectError } from '../reject.ts';
import type { ManageDeps } from './manage.ts';

/** Maximum number of a team's records of a kind. */
export interface TeamLimit<Value> {
  readonly mirror: Mirror<Value>;
  readonly max: number;
  /** True if a record counts. */
  readonly isCounted: (value: Value) => boolean;
  /** The rejection's message. */
  readonly message: string;
}

/** A site counts until it is purged, because until then it can be restored or its data is stored. */
export function siteLimit({ accounts, limits }: ManageDeps, teamId: string): TeamLimit<Site> {
  const max = limits.SITES_PER_TEAM_MAX;
  return {
    mirror: accounts.sites,
    max,
    isCounted: (site) => site.teamId === teamId && site.deletion?.status !== 'purged',
    message: `limit of ${max} sites per team reached (SITES_PER_TEAM_MAX); delete one first, which counts until it is purged`,
  };
}

/** A client counts until its site is purged. */
export function clientLimit({ accounts, limits }: ManageDeps, teamId: string): TeamLimit<Client> {
  const max = limits.CLIENTS_PER_TEAM_MAX;
  return {
    mirror: accounts.clients,
    max,
    isCounted: (client) => client.teamId === teamId && !accounts.isLeftOver(client),
    message: `limit of ${max} clients per team reached (CLIENTS_PER_TEAM_MAX); delete one first`,
  };
}

/** Throws a `RejectError` if the team has no room for one more. */
export function rejectAtLimit<Value>(limit: TeamLimit<Value>): void {
  if (countOf(limit) >= limit.max) throw new RejectError('conflict', limit.message);
}

/**
 * Creates the record of `key` if the limit has room for it. `create` returns undefined if the key is taken; `undo` reverts
 * what it did.
 *
 * The record is written and then counted, because all processes see the records in the order of their writes: the count
 * when a record arrives is exact, so of concurrent creations the first ones stay. A record beyond the limit is reverted
 * within moments and never answered. If this process cannot revert it, because it ends or the bus is unavailable, one record too
 * many remains.
 */
export async function createWithin<Value>(
  limit: TeamLimit<Value>,
  key: string,
  {
    create,
    undo,
  }: {
    readonly create: () => Promise<Entry<Value> | undefined>;
    readonly undo: (made: Entry<Value>) => Promise<unknown>;
  },
): Promise<Entry<Value> | undefined> {
  rejectAtLimit(limit);
  let count: number | undefined;
  const stop = limit.mirror.onChange((after) => {
    if (after?.key === key) count ??= countOf(limit);
  });
  let made: Entry<Value> | undefined;
  try {
    made = await create();
  } finally {
    stop();
  }
  // A mirror that lags has not seen the record itself.
  if (made === undefined || (count ?? countOf(limit) + 1) <= limit.max) return made;
  await undo(made);
  throw new RejectError('conflict', limit.message);
}

/** Number of records that count now. */
export function countOf<Value>({ mirror, isCounted }: TeamLimit<Value>): number {
  let count = 0;
  for (const { value } of mirror.entries()) if (isCounted(value)) count += 1;
  return count;
}
