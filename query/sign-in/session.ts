import type { Accounts, Site } from '../../infra/accounts/accounts.ts';
import { type Caller, isOwnSite } from '../http/caller.ts';
import type { SessionAnswer, ShownSite } from './sign-in-api.ts';

/** The dashboard's data about a signed-in caller: its name, and the sites that it may read. */
export function shownSession({ sites }: Pick<Accounts, 'sites'>, caller: Caller): SessionAnswer {
  const { name, type, teamId, proof } = caller;
  const own: ShownSite[] = [];
  for (const { value: site } of sites.entries()) {
    if (site.deletion !== null || site.teamId !== teamId) continue;
    if (type === 'root' || isOwnSite(caller, site.id)) own.push(shownSite(site));
  }
  return {
    name,
    kind: proof?.kind === 'user' ? 'user' : 'client',
    role: type === 'root' ? 'root' : 'read',
    sites: own.sort((a, b) => a.name.localeCompare(b.name, 'en') || (a.id < b.id ? -1 : 1)),
    expiresAt: new Date(proof?.expiresAtMs ?? 0).toISOString(),
  };
}

/** A site as the dashboard needs it. */
export function shownSite({ id, name, timezone, currency, publicWidget }: Site): ShownSite {
  return { id, name, timezone, currency, isPublic: publicWidget };
}
