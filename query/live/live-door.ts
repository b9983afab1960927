import type { Site } from '../../infra/accounts/accounts.ts';
import type { SiteId } from '../../infra/accounts/ids.ts';
import { RateLimiter } from '../../infra/accounts/rate-limiter.ts';
import { unreachable } from '../../infra/assert.ts';
import type { Clock } from '../../infra/clock.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import { limitHeaders } from '../../infra/http/limit-headers.ts';
import type { Reply } from '../../infra/http/open-reply.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import { AllowedOrigins } from '../../infra/network/allowed-origins.ts';
import { limitedNetwork } from '../../infra/network/client-address.ts';
import { type Directory, siteFor } from '../http/access.ts';
import type { Authenticator } from '../http/authenticator.ts';
import type { Caller } from '../http/caller.ts';
import type { Head } from '../http/endpoint.ts';
import { RejectError, type RejectReason } from '../reject.ts';
import type { ConnectionCounts, Fullness } from './connection-counts.ts';
import type { LiveTokens, TokenClaims } from './live-tokens.ts';

/** Requests without a client, from one address (IPv6: one /64 network) to one process. */
export const STRANGER_LIMIT = { requestsMax: 100, windowMs: 10_000 };
const ADDRESS_RETRY_MS = 30_000;

/** Reasons to reject a request below `/live`, and the kind of error for the client. */
const REASONS = {
  // A stranger is answered like for a private site, so the answer does not reveal which sites exist.
  'unknown-site': 'unauthorized',
  private: 'unauthorized',
  token: 'unauthorized',
  client: 'unauthorized',
  origin: 'forbidden',
  'not-public': 'forbidden',
  rate: 'limited',
  address: 'limited',
  site: 'crowded',
  process: 'crowded',
  away: 'lane-away',
  invalid: 'invalid',
} as const satisfies Record<string, RejectReason>;
export type LiveRejectReason = keyof typeof REASONS;

/** The parts of a request that are read. */
export interface LiveRequest {
  readonly head: Head;
  readonly siteId: SiteId;
  /** Empty when the request has none: it is not from a browser, or it is for the page's own host or for an image. */
  readonly origin: string;
  readonly host: string;
}

/** The reason why a request may see a site's live visitors. */
export type Grant =
  | { readonly kind: 'public'; readonly request: LiveRequest }
  | { readonly kind: 'token'; readonly claims: TokenClaims }
  | { readonly kind: 'client'; readonly client: Caller; readonly address: string };

export interface Admitted {
  readonly site: Site;
  readonly grant: Grant;
  /** The client's limit, for the answer. */
  readonly headers: HeaderList;
}

export interface LiveDoorOptions {
  readonly directory: Directory;
  readonly authenticator: Authenticator;
  readonly tokens: LiveTokens;
  readonly counts: ConnectionCounts;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/**
 * Decides who sees live visitors: credentials first, then a token. Without either, the site must be public, and a
 * browser's origin must be in the site's `cors` list or be the service's own.
 */
export class LiveDoor {
  readonly #options: LiveDoorOptions;
  readonly #limiter = new RateLimiter(STRANGER_LIMIT);
  readonly #origins = new AllowedOrigins();
  readonly #rejects: Readonly<Record<LiveRejectReason, Counter>>;

  constructor(options: LiveDoorOptions) {
    this.#options = options;
    this.#rejects = options.metrics.reasons(
      'live_rejects_total',
      'requests for live visitors that were not answered, by reason',
      Object.keys(REASONS) as LiveRejectReason[],
    );
  }

  /**
   * The site that a request may see. `noted` gets headers for the answer, also for a rejection.
   * @throws {RejectError}
   */
  async admit(
    request: LiveRequest,
    token: string | undefined,
    noted: (headers: HeaderList) => void,
  ): Promise<Admitted> {
    const { directory, authenticator } = this.#options;
    const { head, siteId } = request;
    let headers: HeaderList = [];
    const note = (more: HeaderList) => {
      headers = more;
      noted(more);
    };
    if (provesClient(request)) {
      const client = await this.#countingRejects('client', () => authenticator.admit('insights', head, note));
      const site = await this.#countingRejects('client', async () => siteFor(client, siteId, directory));
      return { site, grant: { kind: 'client', client, address: head.address }, headers };
    }
    const allowance = this.#limiter.take(limitedNetwork(head.address), this.#options.clock.nowMs());
    if (allowance?.allowed === false) {
      note(limitHeaders(allowance));
      this.reject('rate', 'too many requests from this address; retry after the time in Retry-After');
    }
    const site = directory.site(siteId);
    if (token !== undefined) {
      const claims = this.#options.tokens.read(token);
      if (site !== undefined && claims?.storedId === site.storedId)
        return { site, grant: { kind: 'token', claims }, headers };
      return this.reject('token', 'token: unknown, expired or of another site');
    }
    if (!site?.publicWidget) return this.reject(site === undefined ? 'unknown-site' : 'private', NOT_PUBLIC);
    if (!this.#mayShow(site, request))
      return this.reject('origin', "the site's cors list does not have the origin of this page");
    return { site, grant: { kind: 'public', request }, headers };
  }

  /** True if an admitted connection would be admitted now. */
  isAllowed(site: Pick<Site, 'id' | 'storedId'>, grant: Grant): boolean {
    const { directory, authenticator, tokens } = this.#options;
    const present = directory.site(site.id);
    if (present?.storedId !== site.storedId) return false;
    switch (grant.kind) {
      case 'public':
        return present.publicWidget && this.#mayShow(present, grant.request);
      case 'token':
        return tokens.isValid(grant.claims);
      case 'client':
        return authenticator.stillAdmits(grant.client, {
          area: 'insights',
          address: grant.address,
          siteId: site.id,
        });
      default:
        return unreachable(grant);
    }
  }

  /**
   * Takes a place for a connection, until the returned function is called.
   * @throws {RejectError} without room
   */
  takePlace(site: Pick<Site, 'storedId'>, address: string, noted: (headers: HeaderList) => void): () => void {
    const taken = this.#options.counts.take(site.storedId, address);
    if (typeof taken === 'function') return taken;
    const { addressMax } = this.#options.counts.limits;
    if (taken === 'address')
      noted(limitHeaders({ allowed: false, limit: addressMax, remaining: 0, resetMs: ADDRESS_RETRY_MS }));
    return this.reject(taken, FULL[taken]);
  }

  /** Counts and throws. */
  reject(reason: LiveRejectReason, message: string): never {
    this.#rejects[reason].add();
    throw new RejectError(REASONS[reason], message);
  }

  /** Answers a request that was rejected. */
  answer(error: unknown, headers: HeaderList, reply: Reply): void {
    this.#options.authenticator.reject(error, headers, reply);
  }

  async #countingRejects<Result>(reason: LiveRejectReason, act: () => Promise<Result>): Promise<Result> {
    try {
      return await act();
    } catch (error) {
      if (error instanceof RejectError) this.#rejects[reason].add();
      throw error;
    }
  }

  /** True if a public site shows its number to this page. The service's own pages, such as the embedded one, are framed by others. */
  #mayShow({ cors }: Pick<Site, 'cors'>, { origin, host }: LiveRequest): boolean {
    if (origin === '' || this.#origins.allows(cors, origin)) return true;
    return URL.canParse(origin) && host !== '' && new URL(origin).host === host;
  }
}

/** True if a viewer sees more than a public site shows to everyone. */
export function seesWhole(grant: Grant): boolean {
  return grant.kind === 'client' || (grant.kind === 'token' && grant.claims.isWhole);
}

const NOT_PUBLIC =
  'there is no such site, or its live visitors are not public: send a client and its secret, or a token';
const FULL: Readonly<Record<Fullness, string>> = {
  address: 'too many connections from this address; retry after the time in Retry-After',
  site: 'too many connections for this site; retry after the time in Retry-After',
  process: 'too many connections; retry after the time in Retry-After',
};

/**
 * True if a request proves its sender, by a secret or a cookie. A cookie counts only for a page of this service, so other pages
 * see the same as strangers.
 */
function provesClient({ head: { credentials, browser } }: LiveRequest): boolean {
  if (credentials.clientId !== '' || credentials.clientSecret !== '') return true;
  return browser !== undefined && browser.source !== 'other';
}
