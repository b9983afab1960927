import type { Client } from '../../infra/accounts/accounts.ts';
import type { ClientHeaders } from '../../infra/accounts/client-auth.ts';
import type { ClientGuard, Denial, LoginFailure } from '../../infra/accounts/client-guard.ts';
import { type CpuBudget, isBusyAt } from '../../infra/accounts/cpu-budget.ts';
import type { SiteId } from '../../infra/accounts/ids.ts';
import type { SharedRateLimiter } from '../../infra/accounts/shared-rate-limiter.ts';
import { unreachable } from '../../infra/assert.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { RequestHead } from '../../infra/http/http.ts';
import { replyJson } from '../../infra/http/json-pieces.ts';
import { type Allowance, limitHeaders } from '../../infra/http/limit-headers.ts';
import type { Reply } from '../../infra/http/open-reply.ts';
import { errorText } from '../../infra/http/status.ts';
import type { Logger } from '../../infra/log.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import {
  limitedNetwork,
  provenAddress,
  readAddressClaims,
  type TrustedProxies,
} from '../../infra/network/client-address.ts';
import { REJECT_REASONS, RejectError, type RejectReason } from '../reject.ts';
import type { Directory } from './access.ts';
import {
  type BrowserHead,
  type BrowserHeads,
  SHARE_COOKIE,
  SIGN_IN_COOKIE,
  VIEW_TOKEN,
} from './browser-head.ts';
import { type Caller, type CookieCallers, isOwnSite } from './caller.ts';
import type { Area, EndpointAnswer, Head } from './endpoint.ts';

const LIMITED = 'too many requests; retry after the time in Retry-After';
const HEAVY =
  'the requests of this sender take more of the service than its share; retry after the time in Retry-After';
const GUESSING =
  'unknown client id or wrong secret, and too many came from this address; retry after the time in Retry-After';
const RETRY_AFTER_S = 1;
const RETRY_AFTER_S_BY_REASON: Readonly<Partial<Record<RejectReason, number>>> = {
  // The questions that it waited for are still running.
  waited: 10,
  // Connections that are open now stay open, so that there is no room soon.
  crowded: 30,
  cpu: 5,
};
/** Answers to a client must not be cached: a cache knows neither clients nor secrets. */
const NO_STORE: HeaderList = [['cache-control', 'no-store']];

export interface AuthenticatorDeps {
  readonly directory: Directory;
  readonly clientGuard: ClientGuard;
  /** Whose word on a sender's address counts. */
  readonly proxies: TrustedProxies;
  readonly browsers: BrowserHeads;
  readonly cookieCallers: CookieCallers;
  /** By area; insights and export share one. */
  readonly limiters: Readonly<Record<Area, SharedRateLimiter>>;
  /** Counts a request of the viewer of a shared link. */
  readonly takeAsViewer: (address: string) => Allowance | undefined;
  /** Counts the work of each client. */
  readonly cpu: CpuBudget;
  /** Time that requests wait until they are read, in milliseconds. */
  readonly waitMs: () => number;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** A client that may ask. */
export interface EnteredCaller {
  readonly client: Caller;
  /** Headers for the answer. */
  readonly headers: HeaderList;
  /** Whose work and memory the request takes: the client, or the network of a viewer of a shared link. */
  readonly owner: string;
}

/** The parts of a head that identify the sender. */
type IdentityHead = Pick<Head, 'credentials' | 'address' | 'browser' | 'path'>;

/** The caller that a request comes from, or the failure to prove it. `headers` renew the cookie. */
type Authentication =
  | { readonly kind: 'client'; readonly client: Caller; readonly headers: HeaderList }
  | LoginFailure;

const NO_HEADERS: HeaderList = [];
const WRONG_SECRET = 'unknown client id or wrong secret';
const WRONG_COOKIE = 'not signed in, or signed in too long ago; sign in again';

/**
 * Authorizes requests: identifies the client by id and secret or else by a cookie, counts the request against the client's limit, and turns
 * every error into an answer. A request that does not prove its client is counted as a failure of its address instead.
 */
export class Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #rejects: Readonly<Record<RejectReason, Counter>>;

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
    this.#rejects = deps.metrics.reasons(
      'query_rejects_total',
      'requests that were not answered, by reason',
      REJECT_REASONS,
    );
  }

  /**
   * Returns the client of a request that is allowed, judged only by its head; undefined if `reply` was given the reason for a
   * rejection. `rejected` is called before a client that is not allowed gets this status.
   */
  async enter(
    area: Area,
    head: Head,
    reply: Reply,
    rejected: (client: Caller, status: number) => Promise<void>,
  ): Promise<EnteredCaller | undefined> {
    let headers = NO_STORE;
    try {
      const client = await this.#identify(area, head, (counted) => {
        headers = counted;
      });
      const reject = this.#denialOf(client, area, head);
      if (reject === undefined) {
        const owner = ownerOf(client, head);
        this.#rejectHeavy(owner);
        return { client, headers, owner };
      }
      await rejected(client, reject.status);
      throw reject;
    } catch (error) {
      this.reject(error, headers, reply);
      return undefined;
    }
  }

  /** Replies with the result of `answer` for the client, or with the reason why there is no answer. */
  async answer(
    { client, headers, owner }: EnteredCaller,
    reply: Reply,
    answer: (client: Caller) => Promise<EndpointAnswer>,
  ): Promise<void> {
    const { cpu } = this.#deps;
    try {
      const begunMs = cpu.begin();
      const pending = answer(client);
      // Up to its first wait: reading, checking and planning the question.
      cpu.count(owner, begunMs);
      const answered = await pending;
      const encodingMs = cpu.begin();
      const sent = send(answered, headers, reply);
      cpu.count(owner, encodingMs);
      if ('json' in answered && answered.stages !== undefined)
        cpu.countWork(owner, answered.stages.tookMs('memory'));
      await sent;
    } catch (error) {
      this.reject(error, headers, reply);
    }
  }

  /**
   * The client of a request that is no question, such as one for a connection. The request counts against the limit, and
   * `counted` gets the headers about it.
   * @throws {RejectError}
   */
  async admit(area: Area, head: Head, counted: (headers: HeaderList) => void): Promise<Caller> {
    const client = await this.#identify(area, head, counted);
    const denial = this.#denialOf(client, area, head);
    if (denial !== undefined) throw denial;
    return client;
  }

  /**
   * Returns the caller of a request's cookie, whatever areas the caller may use. Counts like `admit`.
   * @throws {RejectError}
   */
  async admitCookie(
    head: Pick<Head, 'address' | 'browser'>,
    counted: (headers: HeaderList) => void,
  ): Promise<Caller> {
    return this.#identify('insights', { ...head, path: {}, credentials: NO_CREDENTIALS }, counted);
  }

  /** True if a caller admitted to a site would still be: it exists, with the same secret, and nothing denies it. */
  stillAdmits(
    caller: Caller,
    { area, address, siteId }: { readonly area: Area; readonly address: string; readonly siteId: SiteId },
  ): boolean {
    const present =
      caller.proof === undefined
        ? this.#deps.directory.client(caller.id)
        : this.#deps.cookieCallers.present(caller);
    if (present === undefined || present.secretHash !== caller.secretHash) return false;
    if (present.type === 'read' && !isOwnSite(present, siteId)) return false;
    return this.#deny(present, area, address) === undefined;
  }

  /**
   * True if the sender's address matters for a question with these credentials. It does not for a client that has proven itself
   * before and may be used from anywhere. Reading an address takes 2 µs, and is only possible before any wait.
   */
  needsAddress({ clientId, clientSecret }: ClientHeaders): boolean {
    const { directory, clientGuard } = this.#deps;
    const client = clientId === '' ? undefined : directory.client(clientId);
    if (client === undefined || client.addresses !== undefined) return true;
    return !clientGuard.isProven(client, clientSecret);
  }

  /** The sender's proven address, in its normal form. */
  addressOf(head: RequestHead): string {
    return provenAddress(readAddressClaims(head, this.#deps.proxies));
  }

  /** The browser's part of a request; undefined without a cookie or view token of ours. */
  browserOf(head: RequestHead): BrowserHead | undefined {
    if (head.header('cookie') === '' && head.header(VIEW_TOKEN) === '') return undefined;
    const browser = this.#deps.browsers.read(head);
    if (browser.viewToken !== '') return browser;
    const { cookies } = browser;
    return cookies[SIGN_IN_COOKIE] === '' && cookies[SHARE_COOKIE] === '' ? undefined : browser;
  }

  /** While the process is busy, owners above their share of work come last. @throws {RejectError} */
  #rejectHeavy(owner: string): void {
    const { cpu, waitMs } = this.#deps;
    if (isBusyAt(waitMs()) && cpu.refuses(owner)) throw new RejectError('cpu', HEAVY);
  }

  /** Why a caller that proved itself may not ask. */
  #denialOf(client: Caller, area: Area, { address }: Head): RejectError | undefined {
    if (area === 'manage' && client.type !== 'root')
      return new RejectError('forbidden', 'only a root client may manage');
    const denial = this.#deny(client, area, address);
    return denial === undefined ? undefined : denied(denial, client, area);
  }

  /**
   * Returns the reason to reject a client, if any. Its limits also apply to its sign-ins; users and shared links have no such
   * limits.
   */
  #deny(client: Caller, area: Area, address: string): Denial | undefined {
    const { directory, clientGuard } = this.#deps;
    const { proof } = client;
    if (proof !== undefined && proof.kind !== 'client') return undefined;
    const record = proof === undefined ? client : directory.client(client.id);
    return record === undefined ? 'expired' : clientGuard.admit(record, { scope: area, address });
  }

  /** The caller that a request comes from. `counted` is called with headers for the answer before anything is thrown. */
  async #identify(area: Area, head: IdentityHead, counted: (headers: HeaderList) => void): Promise<Caller> {
    const authentication = await this.#authenticate(area, head);
    const isKnown = authentication.kind === 'client';
    const allowance = isKnown
      ? this.#take(area, authentication.client, head.address)
      : authentication.failures;
    const renewing = isKnown ? authentication.headers : NO_HEADERS;
    if (allowance !== undefined || renewing.length > 0)
      counted([...NO_STORE, ...renewing, ...(allowance === undefined ? [] : limitHeaders(allowance))]);
    if (allowance?.allowed === false) throw new RejectError('limited', isKnown ? LIMITED : GUESSING);
    if (!isKnown) throw new RejectError('unauthorized', isByCookie(head) ? WRONG_COOKIE : WRONG_SECRET);
    return authentication.client;
  }

  /** A shared link has many viewers; they are counted by address. */
  #take(area: Area, { id, proof }: Caller, address: string): Allowance | undefined {
    return proof?.kind === 'share' ? this.#deps.takeAsViewer(address) : this.#deps.limiters[area].take(id);
  }

  async #authenticate(area: Area, head: IdentityHead): Promise<Authentication> {
    const { credentials, address, browser, path } = head;
    const { directory, clientGuard, cookieCallers } = this.#deps;
    if (browser !== undefined && isByCookie(head)) {
      if (browser.isChange && browser.source !== 'same') throw crossSite();
      const found = await cookieCallers.callerOf(browser, {
        mayLookUp: !clientGuard.isExhausted(address),
        siteId: area === 'insights' ? path.projectId : undefined,
      });
      if (found === undefined) return clientGuard.fail(address);
      return { kind: 'client', client: found.caller, headers: found.headers };
    }
    const client = directory.client(credentials.clientId);
    if (client === undefined || credentials.clientSecret === '') return clientGuard.fail(address);
    const verdict = clientGuard.verify(client, credentials.clientSecret, address);
    return verdict.kind === 'right' ? { kind: 'client', client, headers: NO_HEADERS } : verdict;
  }

  /** Gives the answer to a request that failed with this error. */
  reject(error: unknown, headers: HeaderList, reply: Reply): void {
    const reject = rejectOf(error);
    if (reject === undefined) {
      this.#deps.log.error({ err: error }, 'request failed');
      reply.json(500, errorText(500, 'the service failed; the error has been logged'), headers);
      return;
    }
    this.#rejects[reject.reason].add();
    const { status, message } = reject;
    const retryAfterS = RETRY_AFTER_S_BY_REASON[reject.reason] ?? RETRY_AFTER_S;
    // A limit of requests says so itself.
    const isLater = status === 503 || reject.reason === 'cpu';
    const retry: HeaderList = isLater ? [['Retry-After', String(retryAfterS)]] : [];
    reply.json(status, errorText(status, message), [...headers, ...retry]);
  }
}

/** The error for a change that a page of another origin requests with the cookie of an unaware person. */
export function crossSite(): RejectError {
  return new RejectError(
    'forbidden',
    'a request with a cookie that changes something must come from a page of this service',
  );
}

const NO_CREDENTIALS: ClientHeaders = {
  clientId: '',
  clientSecret: '',
  clientAddress: '',
  sdkName: '',
  sdkVersion: '',
};

/** Credentials in the headers come first, so a cookie never overrides them. */
function isByCookie({ credentials, browser }: IdentityHead): boolean {
  return browser !== undefined && credentials.clientId === '' && credentials.clientSecret === '';
}

function denied(denial: Denial, { expiresAt }: Client, area: Area): RejectError {
  switch (denial) {
    case 'expired':
      return new RejectError('unauthorized', `the client expired at ${expiresAt}`);
    case 'scope':
      return new RejectError('forbidden', `this client may not use ${area}: its scopes lack "${area}"`);
    case 'address':
      return new RejectError('forbidden', 'this client may not be used from this address');
    default:
      return unreachable(denial);
  }
}

function ownerOf({ id, proof }: Caller, { address }: Head): string {
  return proof?.kind === 'share' ? limitedNetwork(address) : id;
}

async function send(answer: EndpointAnswer, limit: HeaderList, reply: Reply): Promise<void> {
  const headers = answer.headers === undefined ? limit : [...limit, ...answer.headers];
  if (!('json' in answer)) {
    await reply.stream(200, headers, answer.chunks, answer.cut);
    return;
  }
  const { stages } = answer;
  stages?.begin('encode', performance.now());
  await replyJson(reply, answer.json, headers, () => {
    stages?.end('encode', performance.now());
    return stages?.header(performance.now());
  });
}

/** The reason why a request is not answered; undefined for an unexpected error. */
function rejectOf(error: unknown): RejectError | undefined {
  if (error instanceof RejectError) return error;
  if (error instanceof BusError && error.retryable)
    return new RejectError(
      'bus-away',
      'the bus cannot be reached now; a change may have been made or not',
      error,
    );
  return undefined;
}
