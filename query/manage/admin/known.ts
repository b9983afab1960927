import { type Client, type Site, siteKeyOf, type Team } from '../../../infra/accounts/accounts.ts';
import type { ManageDeps } from '../manage.ts';

/** The team of this id; the error says where to find the ids that there are. The others are alike. */
export function knownTeam({ accounts }: ManageDeps, id: string): Team {
  return found(accounts.team(id), 'team', id);
}

/** A site, also one that was deleted. */
export function knownSite({ accounts }: ManageDeps, id: string): Site {
  return found(accounts.sites.get(siteKeyOf(id)), 'site', id);
}

export function knownClient({ accounts }: ManageDeps, id: string): Client {
  return found(accounts.client(id.toLowerCase()), 'client', id);
}

function found<Known>(known: Known | undefined, what: string, id: string): Known {
  if (known !== undefined) return known;
  throw new Error(`unknown ${what} ${JSON.stringify(id)}; list the known ones with "${what} list"`);
}
