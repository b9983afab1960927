import type { z } from 'zod';
import type { Clock } from '../infra/clock.ts';
import { errorText, type HeaderList, type HttpServer, type Reply, type RequestHead } from '../infra/http.ts';
import type { Logger } from '../infra/log.ts';
import type { Metrics } from '../infra/metrics.ts';
import type { Client } from '../ingest/accounts.ts';
import { type ClientHeaders, readClientHeaders, VerifierFullError } from '../ingest/client-auth.ts';
import { type Directory, siteFor, siteForExport } from './access.ts';
import { exportQuery, liveQuery, metricsQuery } from './api.ts';
import { answerExport } from './export/events.ts';
import { answerLive, answerLiveDetails } from './insights/live.ts';
import { answerMetrics } from './insights/metrics.ts';
import { readParameters } from './parameters.ts';
import type { Asked, Sources } from './question.ts';
import { type Limit, RateLimit } from './rate-limit.ts';
import { REFUSAL_REASONS, RefusalError } from './refusal.ts';
import { Zones } from './zone.ts';

const RETRY_AFTER: HeaderList = [['Retry-After', '1']];

/** Says whether a secret is a client's. */
export interface Verifier {
  verify(client: Client, secret: string): boolean | Promise<boolean>;
}

export interface RouteOptions extends Sources {
  readonly directory: Directory;
  readonly verifier: Verifier;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly limit: Limit;
}

/** What is kept of a request's head. */
interface Head {
  readonly credentials: ClientHeaders;
  readonly address: string;
  readonly query: string;
  readonly projectId: string;
}

/** One question: how its site is found and how it is answered. */
interface Endpoint<Parameters> {
  readonly pattern: string;
  readonly kind: 'live' | 'metrics' | 'export-events';
  readonly schema: z.ZodType<Parameters>;
  readonly answer: (client: Client, head: Head, parameters: Parameters) => Promise<unknown>;
}

/** Adds the routes of this room to `http`. */
export function addRoutes(http: HttpServer, options: RouteOptions): void {
  const { directory, clock } = options;
  const zones = new Zones();
  const door = new Door(options);
  const askedOf = (client: Client, projectId: string): Asked => {
    const site = siteFor(client, projectId, directory);
    return { site, zone: zones.of(site.timezone), nowMs: clock.nowMs() };
  };
  serve(http, door, options, {
    pattern: '/insights/:projectId/live',
    kind: 'live',
    schema: liveQuery,
    answer: (client, { projectId }, { details }) => {
      const asked = askedOf(client, projectId);
      return details ? answerLiveDetails(options.hot, asked) : answerLive(options.hot, asked);
    },
  });
  serve(http, door, options, {
    pattern: '/insights/:projectId/metrics',
    kind: 'metrics',
    schema: metricsQuery,
    answer: (client, { projectId }, query) => answerMetrics(options, askedOf(client, projectId), query),
  });
  serve(http, door, options, {
    pattern: '/export/events',
    kind: 'export-events',
    schema: exportQuery,
    answer: (client, _head, query) => {
      const site = siteForExport(client, namedSite(query), directory);
      return answerExport(options, askedOf(client, site.id), query);
    },
  });
}

function serve<Parameters>(
  http: HttpServer,
  door: Door,
  options: RouteOptions,
  endpoint: Endpoint<Parameters>,
): void {
  const kind = { kind: endpoint.kind };
  const asked = options.metrics.counter('query_questions_total', 'questions that came in', kind);
  const seconds = options.metrics.seconds('query_question_seconds', 'time from request to answer', kind);
  http.route({
    method: 'get',
    pattern: endpoint.pattern,
    bodyMaxBytes: 0,
    cors: undefined,
    readHead: (head) => readHead(head, endpoint.pattern),
    answer: async (head, _body, reply) => {
      const startedAt = performance.now();
      asked.add();
      await door.letIn(head, reply, async (client) => {
        const parameters = readParameters(head.query, endpoint.schema);
        return JSON.stringify(await endpoint.answer(client, head, parameters));
      });
      seconds.observe((performance.now() - startedAt) / 1000);
    },
  });
}

function readHead(head: RequestHead, pattern: string): Head {
  return {
    credentials: readClientHeaders(head),
    address: head.remoteAddress(),
    query: head.query,
    projectId: pattern.includes(':') ? head.parameter(0) : '',
  };
}

function namedSite({ projectId, project_id }: z.output<typeof exportQuery>): string | undefined {
  if (projectId !== undefined && project_id !== undefined && projectId !== project_id) {
    throw new RefusalError('invalid', 'project_id: it contradicts projectId');
  }
  return projectId ?? project_id;
}

/**
 * Lets clients in, and counts what they ask: so many answers per client. Whoever fails to name a client and its secret
 * is counted by the id as sent and by address, and is not even heard once either has failed too often: a secret is not
 * cheap to verify.
 */
class Door {
  readonly #options: RouteOptions;
  readonly #byClient: RateLimit;
  readonly #failuresById: RateLimit;
  readonly #failuresByAddress: RateLimit;
  readonly #refusals: ReturnType<typeof refusalCounters>;

  constructor(options: RouteOptions) {
    this.#options = options;
    this.#byClient = new RateLimit(options.limit);
    this.#failuresById = new RateLimit(options.limit);
    this.#failuresByAddress = new RateLimit(options.limit);
    this.#refusals = refusalCounters(options.metrics);
  }

  /** Answers with what `answer` makes for the client, or with the reason why there is no answer. */
  async letIn(head: Head, reply: Reply, answer: (client: Client) => Promise<string>): Promise<void> {
    let headers: HeaderList = [];
    try {
      const nowMs = this.#options.clock.nowMs();
      const client = await this.#clientOf(head, nowMs);
      const { exceeded, headers: allowance } =
        client === undefined ? this.#countFailure(head, nowMs) : this.#byClient.take(client.id, nowMs);
      headers = allowance;
      if (exceeded) throw new RefusalError('limited', 'too many requests; wait for the end of the window');
      if (client === undefined) throw new RefusalError('unauthorized', 'unknown client id or wrong secret');
      reply.json(200, await answer(client), headers);
    } catch (error) {
      this.#refuse(error, reply, headers);
    }
  }

  /** The client that the request proves to come from; undefined when it proves none. */
  async #clientOf({ credentials, address }: Head, nowMs: number): Promise<Client | undefined> {
    const { clientId, clientSecret } = credentials;
    if (this.#failuresById.isSpent(clientId, nowMs) || this.#failuresByAddress.isSpent(address, nowMs)) {
      return undefined;
    }
    const client = this.#options.directory.client(clientId);
    if (client === undefined || clientSecret === '') return undefined;
    return (await this.#options.verifier.verify(client, clientSecret)) ? client : undefined;
  }

  #countFailure({ credentials, address }: Head, nowMs: number) {
    const byAddress = this.#failuresByAddress.take(address, nowMs);
    // Those who name no id have nothing in common that could be counted.
    if (credentials.clientId === '') return byAddress;
    const byId = this.#failuresById.take(credentials.clientId, nowMs);
    return byId.exceeded ? byId : byAddress;
  }

  #refuse(error: unknown, reply: Reply, headers: HeaderList): void {
    const refusal = error instanceof VerifierFullError ? new RefusalError('busy', error.message) : error;
    if (!(refusal instanceof RefusalError)) {
      this.#options.log.error({ err: error }, 'a question failed');
      reply.json(500, errorText(500, 'the service failed; it has been logged'), headers);
      return;
    }
    this.#refusals[refusal.reason].add();
    const { status, message } = refusal;
    reply.json(status, errorText(status, message), status === 503 ? [...headers, ...RETRY_AFTER] : headers);
  }
}

function refusalCounters(metrics: Metrics) {
  return metrics.reasons('query_refusals_total', 'questions that were not answered', REFUSAL_REASONS);
}
