import type { Client, Site } from '../../infra/accounts/accounts.ts';
import type { SiteId } from '../../infra/accounts/ids.ts';
import { RejectError } from '../reject.ts';
import { type Caller, isOwnSite } from './caller.ts';

/** Looks up clients and sites; the mirror of the control records implements it. */
export interface Directory {
  site(id: SiteId): Site | undefined;
  client(id: string): Client | undefined;
}

/**
 * The site that `client` asks about by name. Throws a `RejectError` where it may not:
 *
 *     write   no site                                        403
 *     read    its own (a user: several); any other one, whether it exists or not 403
 *     root    sites of its team; another or an unknown one   404
 */
export function siteFor(client: Caller, projectId: SiteId, directory: Directory): Site {
  rejectWriter(client);
  if (client.type === 'read' && !isOwnSite(client, projectId)) {
    throw new RejectError('forbidden', `this client may not read the site ${JSON.stringify(projectId)}`);
  }
  const site = directory.site(projectId);
  if (site === undefined || site.teamId !== client.teamId) {
    throw new RejectError('unknown-site', `no such site: ${JSON.stringify(projectId)}`);
  }
  return site;
}

/** Like `siteFor`, for requests that need not name a site: a read client has its own, a root client must name one. */
export function siteForExport(client: Caller, projectId: SiteId | undefined, directory: Directory): Site {
  rejectWriter(client);
  const named = projectId ?? onlySiteOf(client);
  if (named === null)
    throw new RejectError(
      'invalid',
      `projectId: a ${client.type === 'root' ? 'root client' : 'user with several sites'} must name the site`,
    );
  return siteFor(client, named, directory);
}

function onlySiteOf({ type, projectId, proof }: Caller): string | null {
  if (type !== 'read') return null;
  if (proof?.siteIds === undefined) return projectId;
  return proof.siteIds.length === 1 ? (proof.siteIds[0] ?? null) : null;
}

function rejectWriter(client: Caller): void {
  if (client.type !== 'write') return;
  throw new RejectError('forbidden', 'a write client may only send events; use a read or root client');
}
