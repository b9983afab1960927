import type { Client, Site } from '../../infra/accounts/accounts.ts';
import { RejectError } from '../reject.ts';

/** Looks up clients and sites; the mirror of the control records implements it. */
export interface Directory {
  site(id: string): Site | undefined;
  client(id: string): Client | undefined;
}

/**
 * The site that `client` asks about by name. Throws a `RejectError` where it may not:
 *
 *     write   no site                                        403
 *     read    its own; another one, whether it exists or not 403
 *     root    those of its team; another or an unknown one   404
 */
export function siteFor(client: Client, projectId: string, directory: Directory): Site {
  rejectWriter(client);
  if (client.type === 'read' && client.projectId !== projectId) {
    throw new RejectError('forbidden', `this client may not read the site ${JSON.stringify(projectId)}`);
  }
  const site = directory.site(projectId);
  if (site === undefined || site.teamId !== client.teamId) {
    throw new RejectError('unknown-site', `no such site: ${JSON.stringify(projectId)}`);
  }
  return site;
}

/** Like `siteFor`, for requests that need not name a site: a read client has its own, a root client must name one. */
export function siteForExport(client: Client, projectId: string | undefined, directory: Directory): Site {
  rejectWriter(client);
  const named = projectId ?? (client.type === 'read' ? client.projectId : null);
  if (named === null) throw new RejectError('invalid', 'projectId: a root client must name the site');
  return siteFor(client, named, directory);
}

function rejectWriter(client: Client): void {
  if (client.type !== 'write') return;
  throw new RejectError('forbidden', 'a write client may only send events; use a read or root client');
}
