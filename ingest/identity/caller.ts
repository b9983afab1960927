import type { Accounts, Client, Site } from '../../infra/accounts/accounts.ts';
import type { ClientGuard, Denial, SecretVerdict } from '../../infra/accounts/client-guard.ts';
import type { SiteId } from '../../infra/accounts/ids.ts';
import { unreachable } from '../../infra/assert.ts';
import { limitHeaders } from '../../infra/http/limit-headers.ts';
import type { AllowedOrigins } from '../../infra/network/allowed-origins.ts';
import { provenAddress } from '../../infra/network/client-address.ts';
import type { HashNames } from '../enrich/page.ts';
import type { Reject } from '../request/reject.ts';
import type { RequestFacts } from '../request/request-facts.ts';
import type { SenderClaims } from '../request/sender-claims.ts';

/** A client that may send events to this site. */
export interface Caller {
  readonly site: Site;
  /** The request had a valid secret: it comes from the site's own program and not from a visitor's browser. */
  readonly verified: boolean;
}

/** The meaning of an address's hash on a site. */
export function hashNamesOn(site: Site): HashNames {
  return site.tracking.hashChanges ? 'page' : 'section';
}

/** Claims of a request about its sender, in headers and body. Texts; empty when absent. */
export class CallerCredentials {
  readonly scope = 'track';
  readonly #facts: RequestFacts;
  readonly #body: SenderClaims;

  constructor(facts: RequestFacts, body: SenderClaims) {
    this.#facts = facts;
    this.#body = body;
  }

  get clientId(): string {
    return this.#facts.client.clientId || this.#body.clientId;
  }
  get secret(): string {
    return this.#facts.client.clientSecret || this.#body.clientSecret;
  }
  /** The site, where the client is not bound to one. */
  get projectId(): string {
    return this.#body.projectId;
  }
  get origin(): string {
    return this.#facts.origin;
  }
  /** The sender's proven address, in its normal form: wrong secrets count against it, and a client may be limited to it. */
  get address(): string {
    return provenAddress(this.#facts.claims);
  }
}

export type CallerVerdict = Caller | Reject;

export function isReject(verdict: CallerVerdict): verdict is Reject {
  return 'reason' in verdict;
}

/** The accounts, and the guard of their clients. */
export interface CallerDeps {
  readonly accounts: Accounts;
  readonly origins: AllowedOrigins;
  readonly clientGuard: ClientGuard;
}

/**
 * Decides whether a request may send events: by its secret, or for a browser by the origin of its page.
 */
export function identifyCaller(deps: CallerDeps, credentials: CallerCredentials): CallerVerdict {
  const { accounts, clientGuard } = deps;
  const { clientId, secret } = credentials;
  if (clientId === '')
    return unauthorized(
      'no-client',
      'service-client-id: missing; send it as a header, or as clientId in the body',
    );
  const client = accounts.client(clientId);
  // Only the owner of its secret learns that a client existed and has expired.
  if (client === undefined || (secret === '' && clientGuard.isExpired(client)))
    return unauthorized('unknown-client', 'service-client-id: there is no such client');
  if (secret === '') return callerByOrigin(deps, client, credentials);
  if (clientGuard.isProven(client, secret)) return admitted(deps, client, credentials, true);
  return callerBySecret(deps, client, credentials, clientGuard.verify(client, secret, credentials.address));
}

/** The verdict from the head of a request, before its body is read. */
export interface HeadVerdict {
  /** Undefined: the body may still name the sender or the site. */
  readonly verdict: CallerVerdict | undefined;
  /** The head had a right secret. */
  readonly isProven: boolean;
}

/** Decides by the head of a request only. `mayAddSecret`: the body may have the secret of the client that the head names. */
export function identifyByHead(deps: CallerDeps, facts: RequestFacts, mayAddSecret: boolean): HeadVerdict {
  const { clientId, clientSecret } = facts.client;
  if (clientId === '') return UNDECIDED;
  if (clientSecret === '' && mayAddSecret && deps.accounts.client(clientId) !== undefined) return UNDECIDED;
  const verdict = identifyCaller(deps, new CallerCredentials(facts, NO_CLAIMS));
  return headVerdictOf(verdict, clientSecret);
}

const UNDECIDED: HeadVerdict = { verdict: undefined, isProven: false };
const PROVEN: HeadVerdict = { verdict: undefined, isProven: true };
export const NO_CLAIMS: SenderClaims = { clientId: '', clientSecret: '', projectId: '' };

function headVerdictOf(verdict: CallerVerdict, secret: string): HeadVerdict {
  if (!isReject(verdict)) return { verdict, isProven: verdict.verified };
  // The body, or each of a batch, may name the site.
  if (verdict.reason !== 'no-site' || verdict.status !== 400) return { verdict, isProven: false };
  return secret === '' ? UNDECIDED : PROVEN;
}

function callerBySecret(
  deps: CallerDeps,
  client: Client,
  credentials: CallerCredentials,
  verdict: SecretVerdict,
): CallerVerdict {
  if (verdict.kind === 'wrong') return unauthorized('wrong-secret', 'service-client-secret: wrong secret');
  if (verdict.kind === 'limited')
    return { ...TOO_MANY_WRONG_SECRETS, headers: limitHeaders(verdict.failures) };
  return admitted(deps, client, credentials, true);
}

const TOO_MANY_WRONG_SECRETS: Reject = {
  reason: 'guessing',
  status: 429,
  message:
    'service-client-secret: wrong secret, and too many wrong ones came from this address; retry after the time in Retry-After',
};

function callerByOrigin(deps: CallerDeps, client: Client, credentials: CallerCredentials): CallerVerdict {
  const site = siteOf(deps.accounts, client, credentials.projectId);
  if ('reason' in site) return site;
  const { origin } = credentials;
  if (deps.origins.allows(site.cors, origin)) return admitted(deps, client, credentials, false);
  const message =
    origin === ''
      ? 'service-client-secret: missing; without a secret, the Origin header must name an allowed origin of the site'
      : `origin: ${origin.slice(0, 200)} is not an allowed origin of the site`;
  return unauthorized('origin', message);
}

/** The caller, if its client may send events to its site. */
function admitted(
  { accounts, clientGuard }: CallerDeps,
  client: Client,
  credentials: CallerCredentials,
  verified: boolean,
): CallerVerdict {
  const site = siteOf(accounts, client, credentials.projectId);
  if ('reason' in site) return site;
  const denial = clientGuard.admit(client, credentials);
  return denial === undefined ? { site, verified } : denied(denial, client);
}

function denied(denial: Denial, { expiresAt }: Client): Reject {
  switch (denial) {
    case 'expired':
      return unauthorized('expired', `service-client-secret: the client expired at ${expiresAt}`);
    case 'scope':
      return {
        reason: 'no-scope',
        status: 403,
        message: 'this client may not track: its scopes lack "track"',
      };
    case 'address':
      return {
        reason: 'foreign-address',
        status: 403,
        message: 'this client may not be used from this address',
      };
    default:
      return unreachable(denial);
  }
}

/** The site that the client is bound to. A root client names one of its team. */
function siteOf(accounts: Accounts, client: Client, projectId: SiteId): Site | Reject {
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
