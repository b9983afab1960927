import { CLIENT_HEADER_NAMES } from '../../infra/accounts/client-auth.ts';
import type { Turns } from '../../infra/concurrency/turns.ts';
import { longQuery } from '../../infra/http/head-limits.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { HttpServer, RequestHead } from '../../infra/http/http.ts';
import type { TrustedProxies } from '../../infra/network/client-address.ts';
import type { Collector } from '../collect/collector.ts';
import { type Caller, CallerCredentials, type CallerVerdict, isReject } from '../identity/caller.ts';
import { type RequestFacts, readRequestFacts } from '../request/request-facts.ts';
import { BODY_MAX_BYTES, parseTrackBody } from '../request/track-request.ts';
import { isOverloaded } from './load.ts';
import { type AdmissionDeps, admitTrack, bodyOwnerOf, countWork, type TrackHead } from './track-head.ts';
import { TrackResponder } from './track-responder.ts';

const DAY_S = 86_400;

/** Pages of every origin may call the collection endpoints, without cookies. */
export const COLLECTION_CORS: HeaderList = [
  ['access-control-allow-origin', '*'],
  ['access-control-allow-methods', 'GET, POST, OPTIONS'],
  ['access-control-allow-headers', ['content-type', 'idempotency-key', ...CLIENT_HEADER_NAMES].join(', ')],
  ['access-control-max-age', String(DAY_S)],
];

/** Headers of every answer of a collection endpoint. */
export const ANSWER_HEADERS: HeaderList = [
  ['access-control-allow-origin', '*'],
  ['access-control-expose-headers', 'retry-after, service-version'],
];

export interface RouteDeps extends AdmissionDeps {
  readonly collector: Collector;
  readonly proxies: TrustedProxies;
  /** Divides batches. */
  readonly turns: Turns;
}

/**
 * `POST /track`. Checks in this order: size (by the server), load, limit, content type and client in the head, JSON, schema, client in the body,
 * bot and filters.
 */
export function addTrackRoute(http: HttpServer, deps: RouteDeps, prefix: string): void {
  http.route<TrackHead>({
    method: 'post',
    pattern: `${prefix}/track`,
    bodyMaxBytes: BODY_MAX_BYTES,
    cors: COLLECTION_CORS,
    isHot: true,
    readHead: (head) => ({
      facts: readRequestFacts(head, deps.proxies),
      caller: undefined,
      responder: undefined,
      isProven: false,
    }),
    admit: (head, reply) => admitTrack(deps, head, reply, true),
    ownerOf: bodyOwnerOf,
    answer: (head, bytes, reply) => {
      const begunMs = deps.cpu.begin();
      const responder = head.responder ?? new TrackResponder(deps, reply);
      // Its address can be read only until the request is answered.
      const owner = bodyOwnerOf(head);
      const pending = track(deps, head, bytes, responder);
      const { hasRejected: isRejected } = responder;
      countWork(deps.cpu, { owner, isRejected, isProven: head.isProven }, begunMs);
      return pending;
    },
  });
}

function track(
  deps: RouteDeps,
  { facts, caller: known }: TrackHead,
  bytes: Uint8Array,
  responder: TrackResponder,
): Promise<void> | undefined {
  const body = parseTrackBody(bytes);
  if (body.kind === 'reject') {
    responder.rejected({ reason: body.reason, status: 400, message: body.message });
    return undefined;
  }
  const take = (caller: Caller) => deps.collector.take({ caller, facts, body, outcome: responder });
  if (known !== undefined) return take(known);
  return withCaller(deps.collector.caller(new CallerCredentials(facts, body)), responder, take);
}

interface IdentifyFacts {
  readonly facts: RequestFacts;
  readonly projectId: string;
  /** The problem of the query string, which is not read then. */
  readonly problem: string | undefined;
}

/** `GET /track/device-id`: the visitor's device id, and the session that the next event joins. */
export function addDeviceIdRoute(http: HttpServer, deps: RouteDeps, prefix: string): void {
  http.route<IdentifyFacts>({
    method: 'get',
    pattern: `${prefix}/track/device-id`,
    bodyMaxBytes: 0,
    cors: COLLECTION_CORS,
    readHead: (head) => readIdentifyFacts(head, deps.proxies),
    answer: ({ facts, projectId, problem }, _bytes, reply) => {
      const responder = new TrackResponder(deps, reply);
      if (isOverloaded(deps, facts, responder) || responder.isLimited(facts, deps.clock.nowMs()))
        return undefined;
      if (problem !== undefined) {
        responder.rejected({ reason: 'schema', status: 400, message: problem });
        return undefined;
      }
      const credentials = new CallerCredentials(facts, { clientId: '', clientSecret: '', projectId });
      return withCaller(deps.collector.caller(credentials), responder, (caller) => {
        const reject = deps.collector.findVisitor(caller, facts, responder);
        if (reject !== undefined) responder.rejected(reject);
        return undefined;
      });
    },
  });
}

function readIdentifyFacts(head: RequestHead, proxies: TrustedProxies): IdentifyFacts {
  const facts = readRequestFacts(head, proxies);
  const problem = longQuery(head.query);
  const projectId = problem === undefined ? (new URLSearchParams(head.query).get('projectId') ?? '') : '';
  if (facts.origin !== '') return { facts, projectId, problem };
  // A browser sends no Origin header with a GET to the page's own host; the Referer names the page then.
  const referer = head.header('referer');
  const origin = URL.canParse(referer) ? new URL(referer).origin : '';
  return { facts: { ...facts, origin }, projectId, problem };
}

/** Proceeds with a caller that may send, and rejects the others. */
function withCaller(
  verdict: CallerVerdict,
  responder: TrackResponder,
  proceed: (caller: Caller) => Promise<void> | undefined,
): Promise<void> | undefined {
  if (!isReject(verdict)) return proceed(verdict);
  responder.rejected(verdict);
  return undefined;
}
