import type { Accounts, Client, Site } from '../../infra/accounts/accounts.ts';
import type { ClientHeaders } from '../../infra/accounts/client-auth.ts';
import type { Reject } from '../request/reject.ts';
import type { GuardedVerifier, Verified } from './brute-force.ts';
import { originAllowed } from './origin.ts';

/** Who sends: a client that may send to this site. */
export interface Caller {
  readonly site: Site;
  /** A valid secret came along: the caller is no visitor's browser but the site's own program. */
  readonly verified: boolean;
}

/** What a request says of its sender, from headers and body. Texts; empty when absent. */
export interface CallerCredentials {
  readonly headers: ClientHeaders;
  readonly bodyClientId: string;
  readonly bodyClientSecret: string;
  /** The site, where the client is not bound to one. */
  readonly projectId: string;
  readonly origin: string;
  /** Where it comes from as far as that is believed; who guesses secrets is known by it. */
  readonly address: string;
}

export type CallerVerdict = Caller | Reject;

export function isReject(verdict: CallerVerdict): verdict is Reject {
  return 'reason' in verdict;
}

/** Decides who may send: by secret, or a browser by the origin of its page. At once unless a secret is new to us. */
export function callerOf(
  accounts: Accounts,
  verifier: GuardedVerifier,
  credentials: CallerCredentials,
): CallerVerdict | Promise<CallerVerdict> {
  const clientId = credentials.headers.clientId || credentials.bodyClientId;
  const secret = credentials.headers.clientSecret || credentials.bodyClientSecret;
  if (clientId === '')
    return unauthorized(
      'no-client',
      'service-client-id: missing; send it as a header or as clientId in the body',
    );
  const client = accounts.client(clientId);
  if (client === undefined)
    return unauthorized('unknown-client', 'service-client-id: there is no such client');
  if (secret === '') return callerByOrigin(accounts, client, credentials);
  const verified = verifier.verify(client, secret, credentials.address);
  if (!(verified instanceof Promise)) return callerBySecret(accounts, client, credentials, verified);
  return verified.then((result) => callerBySecret(accounts, client, credentials, result));
}

function callerBySecret(
  accounts: Accounts,
  client: Client,
  credentials: CallerCredentials,
  verified: Verified,
): CallerVerdict {
  if (typeof verified !== 'boolean') return verified;
  if (!verified) return unauthorized('wrong-secret', 'service-client-secret: wrong');
  const site = siteOf(accounts, client, credentials.projectId);
  return 'reason' in site ? site : { site, verified: true };
}

function callerByOrigin(accounts: Accounts, client: Client, credentials: CallerCredentials): CallerVerdict {
  const site = siteOf(accounts, client, credentials.projectId);
  if ('reason' in site) return site;
  const { origin } = credentials;
  if (originAllowed(site.cors, origin)) return { site, verified: false };
  const message =
    origin === ''
      ? 'service-client-secret: missing; without a secret the Origin header must name a page of the site'
      : `origin: ${origin.slice(0, 200)} is not among the site's allowed origins`;
  return unauthorized('origin', message);
}

/** The site that the client is bound to; a root client names one of its team. */
function siteOf(accounts: Accounts, client: Client, projectId: string): Site | Reject {
  if (client.projectId === null && projectId === '')
    return {
      reason: 'no-site',
      status: 400,
      message: 'projectId: missing; a client that is not bound to a site names one in the body',
    };
  const site = accounts.site(client.projectId ?? projectId);
  if (site !== undefined && site.teamId === client.teamId) return site;
  if (client.projectId === null)
    return { reason: 'foreign-site', status: 404, message: 'projectId: there is no such site' };
  return { reason: 'no-site', status: 403, message: 'the site of this client does not exist any more' };
}

function unauthorized(reason: Reject['reason'], message: string): Reject {
  return { reason, status: 401, message };
}
