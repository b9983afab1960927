import { CLIENT_HEADER_NAMES } from '../../infra/accounts/client-auth.ts';
import type { Clock } from '../../infra/clock.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import type { HttpServer, RequestHead } from '../../infra/http/http.ts';
import type { SocketWait } from '../../infra/http/socket-wait.ts';
import type { TrustedProxies } from '../../infra/network/client-address.ts';
import type { Collector } from '../collect/collector.ts';
import { type Caller, CallerCredentials, type CallerVerdict, isReject } from '../identity/caller.ts';
import { busy, type Reject } from '../request/reject.ts';
import { type RequestFacts, readRequestFacts } from '../request/request-facts.ts';
import { BODY_MAX_BYTES, EVENT_ID_MAX, parseTrackBody } from '../request/track-request.ts';
import { TrackResponder, type TrackResponderDeps } from './track-responder.ts';

const DAY_S = 86_400;
const RETRY_SPREAD_S = 5;
const OVERLOADED = busy('overloaded');

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

export interface RouteDeps extends TrackResponderDeps {
  readonly collector: Collector;
  readonly proxies: TrustedProxies;
  readonly clock: Clock;
  readonly socketWait: Pick<SocketWait, 'waitMs'>;
  /** Requests that have waited for so long until they are read are all refused, in milliseconds; 0: none are. */
  readonly waitMaxMs: number;
}

const NOT_JSON_TYPE: Reject = {
  reason: 'content-type',
  status: 415,
  message: 'content-type: expected application/json (or text/plain that holds JSON)',
};
const LONG_KEY: Reject = {
  reason: 'schema',
  status: 400,
  message: `idempotency-key: expected 1 to ${EVENT_ID_MAX} characters`,
};

/** `POST /track`. Checks in this order: size (by the server), load, limit, content type, JSON, schema, client, bot and filters. */
export function addTrackRoute(http: HttpServer, deps: RouteDeps, prefix: string): void {
  http.route<RequestFacts>({
    method: 'post',
    pattern: `${prefix}/track`,
    bodyMaxBytes: BODY_MAX_BYTES,
    cors: COLLECTION_CORS,
    isHot: true,
    readHead: (head) => readRequestFacts(head, deps.proxies),
    answer: (facts, bytes, reply) => track(deps, facts, bytes, new TrackResponder(deps, reply)),
  });
}

function track(
  deps: RouteDeps,
  facts: RequestFacts,
  bytes: Uint8Array,
  responder: TrackResponder,
): Promise<void> | undefined {
  if (isRejectedByHead(deps, facts, responder)) return undefined;
  const body = parseTrackBody(bytes);
  if (body.kind === 'reject') {
    responder.rejected({ reason: body.reason, status: 400, message: body.message });
    return undefined;
  }
  const verdict = deps.collector.caller(new CallerCredentials(facts, body));
  const take = (caller: Caller) => deps.collector.take({ caller, facts, body, outcome: responder });
  // The common case is decided without a promise.
  if (!(verdict instanceof Promise) && !isReject(verdict)) return take(verdict);
  return withCaller(verdict, responder, take);
}

/** True when the request was rejected before its body was looked at, for the load, its address or its headers, and has been answered. */
export function isRejectedByHead(deps: RouteDeps, facts: RequestFacts, responder: TrackResponder): boolean {
  if (isOverloaded(deps, responder)) return true;
  if (responder.isLimited(facts, deps.clock.nowMs())) return true;
  const isLong = facts.idempotencyKey.length > EVENT_ID_MAX;
  if (!isLong && isJsonType(facts.contentType)) return false;
  responder.rejected(isLong ? LONG_KEY : NOT_JSON_TYPE);
  return true;
}

/**
 * True when the request had to wait for too long until it was read, and was answered with 503. From half of the longest wait on, more and more
 * are refused, so that the wait stays about there, however many connections there are. A refused request costs neither parsing nor the bus.
 */
function isOverloaded(deps: RouteDeps, responder: TrackResponder): boolean {
  const { socketWait, waitMaxMs, collector } = deps;
  if (waitMaxMs === 0) return false;
  const share = (2 * socketWait.waitMs()) / waitMaxMs - 1;
  if (share <= 0 || share < Math.random()) return false;
  // What was accepted does not wait until no more requests arrive.
  collector.publishDue();
  // Not all of those who are refused together shall come back together.
  const retryAfterS = 1 + Math.floor(Math.random() * RETRY_SPREAD_S);
  responder.rejected({ ...OVERLOADED, headers: [['retry-after', String(retryAfterS)]] });
  return true;
}

interface IdentifyFacts {
  readonly facts: RequestFacts;
  readonly projectId: string;
}

/** `GET /track/device-id`: the visitor's device id, and the session that the next event joins. */
export function addDeviceIdRoute(http: HttpServer, deps: RouteDeps, prefix: string): void {
  http.route<IdentifyFacts>({
    method: 'get',
    pattern: `${prefix}/track/device-id`,
    bodyMaxBytes: 0,
    cors: COLLECTION_CORS,
    readHead: (head) => readIdentifyFacts(head, deps.proxies),
    answer: ({ facts, projectId }, _bytes, reply) => {
      const responder = new TrackResponder(deps, reply);
      if (isOverloaded(deps, responder) || responder.isLimited(facts, deps.clock.nowMs())) return undefined;
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
  const projectId = new URLSearchParams(head.query).get('projectId') ?? '';
  if (facts.origin !== '') return { facts, projectId };
  // A browser sends no Origin header with a GET to the page's own host; the Referer names the page then.
  const referer = head.header('referer');
  const origin = URL.canParse(referer) ? new URL(referer).origin : '';
  return { facts: { ...facts, origin }, projectId };
}

/** Proceeds with a caller that may send, and rejects the others. Waits only for a secret whose hash is of an earlier version. */
function withCaller(
  verdict: CallerVerdict | Promise<CallerVerdict>,
  responder: TrackResponder,
  proceed: (caller: Caller) => Promise<void> | undefined,
): Promise<void> | undefined {
  if (verdict instanceof Promise) return verdict.then((known) => withCaller(known, responder, proceed));
  if (!isReject(verdict)) return proceed(verdict);
  responder.rejected(verdict);
  return undefined;
}

/** Beacons send text/plain, and some senders send no type; both are read as JSON. */
function isJsonType(contentType: string): boolean {
  if (contentType === 'application/json' || contentType === '') return true;
  const name = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  return name === 'application/json' || name === 'text/plain' || /^application\/[\w.-]+\+json$/.test(name);
}
