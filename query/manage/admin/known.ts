import { type Client, type Site, siteKeyOf, type Team } from '../../../infra/accounts/accounts.ts';
import type { SiteId } from '../../../infra/accounts/ids.ts';
import type { ManageDeps } from '../manage.ts';

/** The team of this id. Otherwise throws an error that says how to list the known ids; so do the functions below. */
export function knownTeam({ accounts }: ManageDeps, id: string): Team {
  return found(accounts.team(id), 'team', id);
}

/** A site, also a deleted one. */
export function knownSite({ accounts }: ManageDeps, id: SiteId): Site {
  return found(accounts.sites.get(siteKeyOf(id)), 'site', id);
}

export function knownClient({ accounts }: ManageDeps, id: string): Client {
  return found(accounts.client(id.toLowerCase()), 'client', id);
}

function found<Known>(known: Known | undefined, what: string, id: string): Known {
  if (known !== undefined) return known;
  throw new Error(`unknown ${what} ${JSON.stringify(id)}; list the known ones with "${what} list"`);
}
