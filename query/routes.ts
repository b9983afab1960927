import type { z } from 'zod';
import type { Clock } from '../infra/clock.ts';
import { errorText, type HeaderList, type HttpServer, type Reply, type RequestHead } from '../infra/http.ts';
import type { Logger } from '../infra/log.ts';
import type { Metrics } from '../infra/metrics.ts';
import type { Client } from '../ingest/accounts.ts';
import { readClientHeaders, VerifierFullError } from '../ingest/client-auth.ts';
import { type Directory, siteFor, siteForExport } from './access.ts';
import { excludedQuery, exportQuery, liveQuery, metricsQuery, recordQuery } from './api.ts';
import { type AskedOf, type Endpoint, type Head, type Insight, insight } from './endpoint.ts';
import { answerExport } from './export/events.ts';
import { activeUsersInsight } from './insights/active-users.ts';
import { breakdownInsights, trafficInsights } from './insights/breakdown.ts';
import { eventListInsight } from './insights/event-list.ts';
import { answerExcluded } from './insights/excluded.ts';
import { answerLive, answerLiveDetails } from './insights/live.ts';
import { answerMetrics } from './insights/metrics.ts';
import { entryExitInsight, pagesInsight } from './insights/pages.ts';
import { answerGroup, answerProfile, type RecordSources } from './insights/records.ts';
import { sessionListInsight } from './insights/session-list.ts';
import { eventNamesInsight, propertyKeysInsight, propertyValuesInsight } from './insights/vocabulary.ts';
import { readParameters } from './parameters.ts';
import { type Limit, RateLimit } from './rate-limit.ts';
import { REFUSAL_REASONS, RefusalError } from './refusal.ts';
import { KeptFigures } from './rollups/kept-sums.ts';
import { Zones } from './zone.ts';

const RETRY_AFTER: HeaderList = [['Retry-After', '1']];

/** Says whether a secret is a client's. */
export interface Verifier {
  verify(client: Client, secret: string): boolean | Promise<boolean>;
}

export interface RouteOptions extends RecordSources {
  readonly directory: Directory;
  readonly verifier: Verifier;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly limit: Limit;
}

/** Adds the routes of this room to `http`. */
export function addRoutes(http: HttpServer, options: RouteOptions): void {
  const { directory, clock } = options;
  const zones = new Zones();
  const door = new Door(options);
  const askedOf: AskedOf = (client, projectId) => {
    const site = siteFor(client, projectId, directory);
    return { site, zone: zones.of(site.timezone), nowMs: clock.nowMs() };
  };
  const serveInsight = <Parameters>(question: Insight<Parameters>) =>
    serve(http, door, options, insight(askedOf, question));
  serveInsight({
    path: 'live',
    schema: liveQuery,
    answer: (asked, { details }) =>
      details ? answerLiveDetails(options.hot, asked) : answerLive(options.hot, asked),
  });
  const kept = new KeptFigures();
  serveInsight({
    path: 'metrics',
    schema: metricsQuery,
    answer: (asked, query) => answerMetrics(options, asked, query, kept),
  });
  for (const question of breakdownInsights(options)) serveInsight(question);
  for (const question of trafficInsights(options)) serveInsight(question);
  serveInsight(pagesInsight(options));
  serveInsight(entryExitInsight(options));
  serveInsight(eventListInsight(options));
  serveInsight(eventNamesInsight(options));
  serveInsight(propertyKeysInsight(options));
  serveInsight(propertyValuesInsight(options));
  serveInsight(sessionListInsight(options));
  serveInsight(activeUsersInsight(options));
  serveInsight({
    path: 'excluded',
    schema: excludedQuery,
    answer: (asked, query) => answerExcluded(options, asked, query),
  });
  serve(http, door, options, {
    pattern: '/insights/:projectId/profiles/:profileId',
    kind: 'profile',
    schema: recordQuery,
    answer: (client, { projectId, id }) => answerProfile(options, askedOf(client, projectId), id),
  });
  serve(http, door, options, {
    pattern: '/insights/:projectId/groups/:groupId',
    kind: 'group',
    schema: recordQuery,
    answer: (client, { projectId, id }) => answerGroup(options, askedOf(client, projectId), id),
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
    id: pattern.split(':').length > 2 ? head.parameter(1) : '',
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
