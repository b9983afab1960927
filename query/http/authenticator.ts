import type { Client } from '../../infra/accounts/accounts.ts';
import { VerifierFullError } from '../../infra/accounts/client-auth.ts';
import { type Allowance, type Limit, RateLimit } from '../../infra/accounts/rate-limit.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { Clock } from '../../infra/clock.ts';
import { errorText, type HeaderList, type Reply } from '../../infra/http/http.ts';
import type { Logger } from '../../infra/log.ts';
import type { Metrics } from '../../infra/metrics.ts';
import { REJECT_REASONS, RejectError } from '../reject.ts';
import type { Directory } from './access.ts';
import type { Answered, Area, Head } from './endpoint.ts';

const RETRY_AFTER: HeaderList = [['Retry-After', '1']];
const NO_HEADERS: HeaderList = [];

/** Says whether a secret is a client's; `known` only if that is known without work. */
export interface Verifier {
  known(client: Client, secret: string): boolean | undefined;
  verify(client: Client, secret: string): boolean | Promise<boolean>;
}

/** Counts the requests of clients; `undefined` where they are not limited. */
export interface ClientLimit {
  take(clientId: string, nowMs: number): Allowance | Promise<Allowance>;
}

export interface AuthenticatorOptions {
  readonly directory: Directory;
  readonly verifier: Verifier;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** By area; insights and export have one in common. */
  readonly limits: Readonly<Record<Area, ClientLimit | undefined>>;
  /** Of those who fail to name a client and its secret, by what they sent and by address. */
  readonly failures: Limit;
}

/**
 * Lets clients in, and counts what they ask: so many answers per client. Whoever fails to name a client and its secret
 * is counted by the id as sent and by address, and is not even heard once either has failed too often: a secret is not
 * cheap to verify. A secret that is known to be right is heard nevertheless: an id is no secret, and whoever knows one
 * must not be able to shut its owner out.
 */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #failuresById: RateLimit;
  readonly #failuresByAddress: RateLimit;
  readonly #refusals: ReturnType<typeof rejectCounters>;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#failuresById = new RateLimit(options.failures);
    this.#failuresByAddress = new RateLimit(options.failures);
    this.#refusals = rejectCounters(options.metrics);
  }

  /** Answers with what `answer` makes for the client, or with the reason why there is no answer. */
  async authorize(
    area: Area,
    head: Head,
    reply: Reply,
    answer: (client: Client) => Promise<Answered>,
  ): Promise<void> {
    let headers: HeaderList = NO_HEADERS;
    try {
      const nowMs = this.#options.clock.nowMs();
      const client = await this.#clientOf(head, nowMs);
      const allowance =
        client === undefined
          ? this.#countFailure(head, nowMs)
          : await this.#options.limits[area]?.take(client.id, nowMs);
      if (allowance !== undefined) headers = allowance.headers;
      if (allowance?.exceeded)
        throw new RejectError('limited', 'too many requests; wait as long as Retry-After says');
      if (client === undefined) throw unauthorized();
      if (area === 'manage' && client.type !== 'root')
        throw new RejectError('forbidden', 'only a root client may manage');
      const answered = await answer(client);
      const { headers: further = NO_HEADERS } = answered;
      const all = further.length === 0 ? headers : [...headers, ...further];
      if ('json' in answered) reply.json(200, JSON.stringify(answered.json), all);
      else await reply.stream(200, all, answered.chunks);
    } catch (error) {
      this.#refuse(error, reply, headers);
    }
  }

  /** The client that the request proves to come from; undefined when it proves none. */
  async #clientOf({ credentials, address }: Head, nowMs: number): Promise<Client | undefined> {
    const { clientId, clientSecret } = credentials;
    const { directory, verifier } = this.#options;
    const client = directory.client(clientId);
    if (client === undefined || clientSecret === '') return undefined;
    const known = verifier.known(client, clientSecret);
    // Of no use to whoever guesses, and no work: a program that goes on with a secret of yesterday costs nobody his turn.
    if (known === false) throw unauthorized();
    if (known) return client;
    if (this.#failuresById.isSpent(clientId, nowMs) || this.#failuresByAddress.isSpent(address, nowMs)) {
      return undefined;
    }
    return (await verifier.verify(client, clientSecret)) ? client : undefined;
  }

  #countFailure({ credentials, address }: Head, nowMs: number): Allowance {
    const byAddress = this.#failuresByAddress.take(address, nowMs);
    // Those who name no id have nothing in common that could be counted.
    if (credentials.clientId === '') return byAddress;
    const byId = this.#failuresById.take(credentials.clientId, nowMs);
    return byId.exceeded ? byId : byAddress;
  }

  #refuse(error: unknown, reply: Reply, headers: HeaderList): void {
    const reject = rejectOf(error);
    if (reject === undefined) {
      this.#options.log.error({ err: error }, 'a question failed');
      reply.json(500, errorText(500, 'the service failed; it has been logged'), headers);
      return;
    }
    this.#refusals[reject.reason].add();
    const { status, message } = reject;
    reply.json(status, errorText(status, message), status === 503 ? [...headers, ...RETRY_AFTER] : headers);
  }
}

function unauthorized(): RejectError {
  return new RejectError('unauthorized', 'unknown client id or wrong secret');
}

/** Why nothing was done; undefined where the fault is ours. */
function rejectOf(error: unknown): RejectError | undefined {
  if (error instanceof RejectError) return error;
  if (error instanceof VerifierFullError) return new RejectError('busy', error.message);
  if (error instanceof BusError && error.retryable)
    return new RejectError(
      'bus-away',
      'the bus cannot be reached now; whether it was done is not known',
      error,
    );
  return undefined;
}

function rejectCounters(metrics: Metrics) {
  return metrics.reasons('query_refusals_total', 'questions that were not answered', REJECT_REASONS);
}
