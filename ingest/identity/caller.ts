import type { Accounts, Client, Site } from '../../infra/accounts/accounts.ts';
import type { ClientHeaders } from '../../infra/accounts/client-auth.ts';
import type { SecretGuard, SecretVerdict } from '../../infra/accounts/secret-guard.ts';
import { limitHeaders } from '../../infra/http/limit-headers.ts';
import type { HashNames } from '../enrich/page.ts';
import { busy, type Reject } from '../request/reject.ts';
import { originAllowed } from './origin.ts';

/** A client that may send events to this site. */
export interface Caller {
  readonly site: Site;
  /** The request had a valid secret: it comes from the site's own program and not from a visitor's browser. */
  readonly verified: boolean;
}

/** What the hash of an address names on a site. */
export function hashNamesOn(site: Site): HashNames {
  return site.tracking.hashChanges ? 'page' : 'section';
}

/** What a request says of its sender, in headers and body. Texts; empty when absent. */
export interface CallerCredentials {
  readonly headers: ClientHeaders;
  readonly bodyClientId: string;
  readonly bodyClientSecret: string;
  /** The site, where the client is not bound to one. */
  readonly projectId: string;
  readonly origin: string;
  /** The address that wrong secrets are counted against; nothing that the sender merely claims. */
  readonly address: string;
}

export type CallerVerdict = Caller | Reject;

export function isReject(verdict: CallerVerdict): verdict is Reject {
  return 'reason' in verdict;
}

/**
 * Decides whether a request may send events: by its secret, or for a browser by the origin of its page. Answers at once
 * unless the secret is new to this process.
 */
export function identifyCaller(
  accounts: Accounts,
  guard: SecretGuard,
  credentials: CallerCredentials,
): CallerVerdict | Promise<CallerVerdict> {
  const clientId = credentials.headers.clientId || credentials.bodyClientId;
  const secret = credentials.headers.clientSecret || credentials.bodyClientSecret;
  if (clientId === '')
    return unauthorized(
      'no-client',
      'service-client-id: missing; send it as a header, or as clientId in the body',
    );
  const client = accounts.client(clientId);
  if (client === undefined)
    return unauthorized('unknown-client', 'service-client-id: there is no such client');
  if (secret === '') return callerByOrigin(accounts, client, credentials);
  const verdict = guard.verify(client, secret, credentials.address);
  if (!(verdict instanceof Promise)) return callerBySecret(accounts, client, credentials, verdict);
  return verdict.then((known) => callerBySecret(accounts, client, credentials, known));
}

function callerBySecret(
  accounts: Accounts,
  client: Client,
  credentials: CallerCredentials,
  verdict: SecretVerdict,
): CallerVerdict {
  if (verdict.kind === 'busy') return busy('verifier-full');
  if (verdict.kind === 'wrong') return unauthorized('wrong-secret', 'service-client-secret: wrong secret');
  if (verdict.kind === 'limited')
    return { ...TOO_MANY_WRONG_SECRETS, headers: limitHeaders(verdict.failures) };
  const site = siteOf(accounts, client, credentials.projectId);
  return 'reason' in site ? site : { site, verified: true };
}

const TOO_MANY_WRONG_SECRETS: Reject = {
  reason: 'guessing',
  status: 429,
  message:
    'service-client-secret: too many wrong secrets for this client or from this address; retry after the time in Retry-After',
};

function callerByOrigin(accounts: Accounts, client: Client, credentials: CallerCredentials): CallerVerdict {
  const site = siteOf(accounts, client, credentials.projectId);
  if ('reason' in site) return site;
  const { origin } = credentials;
  if (originAllowed(site.cors, origin)) return { site, verified: false };
  const message =
    origin === ''
      ? 'service-client-secret: missing; without a secret, the Origin header must name an allowed origin of the site'
      : `origin: ${origin.slice(0, 200)} is not an allowed origin of the site`;
  return unauthorized('origin', message);
}

/** The site that the client is bound to. A root client names one of its team. */
function siteOf(accounts: Accounts, client: Client, projectId: string): Site | Reject {
  if (client.projectId === null && projectId === '')
    return {
      reason: 'no-site',
      status: 400,
      message: 'projectId: missing; a client that is not bound to a site must name one in the body',
    };
  const site = accounts.site(client.projectId ?? projectId);
  if (site !== undefined && site.teamId === client.teamId) return site;
  if (client.projectId === null)
    return { reason: 'foreign-site', status: 404, message: 'projectId: there is no such site' };
  return { reason: 'no-site', status: 403, message: 'the site of this client no longer exists' };
}

function unauthorized(reason: Reject['reason'], message: string): Reject {
  return { reason, status: 401, message };
}
