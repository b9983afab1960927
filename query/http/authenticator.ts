import type { Client } from '../../infra/accounts/accounts.ts';
import type { ClientGuard, Denial, LoginFailure } from '../../infra/accounts/client-guard.ts';
import type { SharedRateLimiter } from '../../infra/accounts/shared-rate-limiter.ts';
import { unreachable } from '../../infra/assert.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { RequestHead } from '../../infra/http/http.ts';
import { limitHeaders } from '../../infra/http/limit-headers.ts';
import type { Reply } from '../../infra/http/open-reply.ts';
import { errorText } from '../../infra/http/status.ts';
import type { Logger } from '../../infra/log.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import { provenAddress, readAddressClaims, type TrustedProxies } from '../../infra/network/client-address.ts';
import { REJECT_REASONS, RejectError, type RejectReason } from '../reject.ts';
import type { Directory } from './access.ts';
import type { Area, EndpointAnswer, Head } from './endpoint.ts';

const LIMITED = 'too many requests; retry after the time in Retry-After';
const GUESSING =
  'unknown client id or wrong secret, and too many came from this address; retry after the time in Retry-After';
const RETRY_AFTER_S = 1;
const RETRY_AFTER_S_BY_REASON: Readonly<Partial<Record<RejectReason, number>>> = {
  // The questions that it waited for are still running.
  waited: 10,
  // Connections that are open now stay open, so that there is no room soon.
  crowded: 30,
};
/** What a client may see is not for a cache, which knows neither clients nor secrets. */
const NO_STORE: HeaderList = [['cache-control', 'no-store']];

export interface AuthenticatorDeps {
  readonly directory: Directory;
  readonly clientGuard: ClientGuard;
  /** Whose word on a sender's address counts. */
  readonly proxies: TrustedProxies;
  /** By area; insights and export share one. */
  readonly limiters: Readonly<Record<Area, SharedRateLimiter>>;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** What becomes of a request whose client is known. */
export interface Answering {
  readonly answer: (client: Client) => Promise<EndpointAnswer>;
  /** Called before a client that may not ask gets this status. */
  readonly rejected: (client: Client, status: number) => Promise<void>;
}

/** The client that a request comes from, or the failure to prove it. */
type Authentication = { readonly kind: 'client'; readonly client: Client } | LoginFailure;

/**
 * Authorizes requests: identifies the client by id and secret, counts the request against the client's limit, and turns
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

  /** Replies with what `answer` returns for the client, or with the reason why there is no answer. */
  async authorize(area: Area, head: Head, reply: Reply, { answer, rejected }: Answering): Promise<void> {
    let headers = NO_STORE;
    try {
      const client = await this.#identify(area, head, (counted) => {
        headers = counted;
      });
      const reject = this.#denialOf(client, area, head);
      if (reject !== undefined) {
        await rejected(client, reject.status);
        throw reject;
      }
      await send(await answer(client), headers, reply);
    } catch (error) {
      this.reject(error, headers, reply);
    }
  }

  /**
   * The client of a request that is no question, such as one for a connection. The request counts against the limit, and
   * `counted` gets the headers about it.
   * @throws {RejectError}
   */
  async admit(area: Area, head: Head, counted: (headers: HeaderList) => void): Promise<Client> {
    const client = await this.#identify(area, head, counted);
    const denial = this.#denialOf(client, area, head);
    if (denial !== undefined) throw denial;
    return client;
  }

  /** Whether a client that was admitted would still be: it exists, with the same secret, and nothing denies it. */
  stillAdmits(client: Client, area: Area, address: string): boolean {
    const { directory, clientGuard } = this.#deps;
    const present = directory.client(client.id);
    if (present === undefined || present.secretHash !== client.secretHash) return false;
    return clientGuard.admit(present, { scope: area, address }) === undefined;
  }

  /** The sender's proven address, in its normal form. */
  addressOf(head: RequestHead): string {
    return provenAddress(readAddressClaims(head, this.#deps.proxies));
  }

  /** Why a client that proved itself may not ask. */
  #denialOf(client: Client, area: Area, { address }: Head): RejectError | undefined {
    if (area === 'manage' && client.type !== 'root')
      return new RejectError('forbidden', 'only a root client may manage');
    const denial = this.#deps.clientGuard.admit(client, { scope: area, address });
    return denial === undefined ? undefined : denied(denial, client, area);
  }

  /** The client that a request comes from. `counted` is called with the headers about its limit before anything is thrown. */
  async #identify(area: Area, head: Head, counted: (headers: HeaderList) => void): Promise<Client> {
    const authentication = await this.#authenticate(head);
    const allowance =
      authentication.kind === 'client'
        ? this.#deps.limiters[area].take(authentication.client.id)
        : authentication.failures;
    if (allowance !== undefined) counted([...NO_STORE, ...limitHeaders(allowance)]);
    if (allowance?.allowed === false)
      throw new RejectError('limited', authentication.kind === 'client' ? LIMITED : GUESSING);
    if (authentication.kind !== 'client')
      throw new RejectError('unauthorized', 'unknown client id or wrong secret');
    return authentication.client;
  }

  async #authenticate({ credentials, address }: Head): Promise<Authentication> {
    const { directory, clientGuard } = this.#deps;
    const client = directory.client(credentials.clientId);
    if (client === undefined || credentials.clientSecret === '') return clientGuard.fail(address);
    const verdict = await clientGuard.verify(client, credentials.clientSecret, address);
    switch (verdict.kind) {
      case 'right':
        return { kind: 'client', client };
      case 'busy':
        throw new RejectError('busy', 'too many secrets wait to be verified; try again');
      default:
        return verdict;
    }
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
    const retry: HeaderList = status === 503 ? [['Retry-After', String(retryAfterS)]] : [];
    reply.json(status, errorText(status, message), [...headers, ...retry]);
  }
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

async function send(answer: EndpointAnswer, limit: HeaderList, reply: Reply): Promise<void> {
  const headers = answer.headers === undefined ? limit : [...limit, ...answer.headers];
  if (!('json' in answer)) {
    await reply.stream(200, headers, answer.chunks, answer.cut);
    return;
  }
  const { stages } = answer;
  stages?.begin('encode', performance.now());
  const text = JSON.stringify(answer.json);
  stages?.end('encode', performance.now());
  reply.json(200, text, stages === undefined ? headers : [...headers, ...stages.header(performance.now())]);
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
