import { CLIENT_HEADER_NAMES } from '../../infra/accounts/client-auth.ts';
import type { Clock } from '../../infra/clock.ts';
import type { HeaderList, HttpServer, RequestHead } from '../../infra/http/http.ts';
import { limitedAddress, type TrustedProxies } from '../../infra/network/client-address.ts';
import type { Collector } from '../collect/collector.ts';
import { type Caller, type CallerCredentials, type CallerVerdict, isReject } from '../identity/caller.ts';
import type { Reject } from '../request/reject.ts';
import { type RequestFacts, readRequestFacts } from '../request/request-facts.ts';
import type { SenderClaims } from '../request/sender-claims.ts';
import { BODY_MAX_BYTES, EVENT_ID_MAX, parseTrackBody } from '../request/track-request.ts';
import { TrackResponder, type TrackResponderDeps } from './track-responder.ts';

const DAY_S = 86_400;

/** What every answer of a collection endpoint lets a browser do: any page, without credentials. */
export const COLLECTION_CORS: HeaderList = [
  ['access-control-allow-origin', '*'],
  ['access-control-allow-methods', 'GET, POST, OPTIONS'],
  ['access-control-allow-headers', ['content-type', 'idempotency-key', ...CLIENT_HEADER_NAMES].join(', ')],
  ['access-control-max-age', String(DAY_S)],
];

/** What goes out with each answer of a collection endpoint. */
export function answerHeaders(version: string): HeaderList {
  return [
    ['access-control-allow-origin', '*'],
    ['access-control-expose-headers', 'retry-after'],
    ['service-version', version],
  ];
}

export interface RouteDeps extends TrackResponderDeps {
  readonly collector: Collector;
  readonly proxies: TrustedProxies;
  readonly clock: Clock;
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

/** `POST /track`. The order of checks: size (done by the server), JSON, schema, client, bot and filters, accept. */
export function addTrackRoute(http: HttpServer, parts: RouteDeps, prefix: string): void {
  http.route<RequestFacts>({
    method: 'post',
    pattern: `${prefix}/track`,
    bodyMaxBytes: BODY_MAX_BYTES,
    cors: COLLECTION_CORS,
    readHead: (head) => readRequestFacts(head, parts.proxies),
    answer: (facts, bytes, reply) => track(parts, facts, bytes, new TrackResponder(parts, reply)),
  });
}

function track(
  parts: RouteDeps,
  facts: RequestFacts,
  bytes: Uint8Array,
  answering: TrackResponder,
): Promise<void> | undefined {
  if (isRefusedByHead(parts, facts, answering)) return undefined;
  const body = parseTrackBody(bytes);
  if (body.kind === 'reject') {
    answering.rejected({ reason: body.reason, status: 400, message: body.message });
    return undefined;
  }
  const verdict = parts.collector.caller(credentialsOf(facts, body));
  const take = (caller: Caller) => parts.collector.take({ caller, facts, body, outcome: answering });
  // The common case is known at once and takes no promise.
  if (!(verdict instanceof Promise) && !isReject(verdict)) return take(verdict);
  return withCaller(verdict, answering, take);
}

/** Who sends, as headers and body say it. */
export function credentialsOf(facts: RequestFacts, body: SenderClaims): CallerCredentials {
  return {
    headers: facts.client,
    bodyClientId: body.clientId,
    bodyClientSecret: body.clientSecret,
    projectId: body.projectId,
    origin: facts.origin,
    address: limitedAddress(facts.claims),
  };
}

/** True when the request was answered for what its head says alone. */
export function isRefusedByHead(parts: RouteDeps, facts: RequestFacts, answering: TrackResponder): boolean {
  if (answering.isLimited(facts, parts.clock.nowMs())) return true;
  const isLong = facts.idempotencyKey.length > EVENT_ID_MAX;
  if (!isLong && isJsonType(facts.contentType)) return false;
  answering.rejected(isLong ? LONG_KEY : NOT_JSON_TYPE);
  return true;
}

interface IdentifyFacts {
  readonly facts: RequestFacts;
  readonly projectId: string;
}

/** `GET /track/device-id`: who the visitor is to us, and the session that the next event joins. */
export function addDeviceIdRoute(http: HttpServer, parts: RouteDeps, prefix: string): void {
  http.route<IdentifyFacts>({
    method: 'get',
    pattern: `${prefix}/track/device-id`,
    bodyMaxBytes: 0,
    cors: COLLECTION_CORS,
    readHead: (head) => readIdentifyFacts(head, parts.proxies),
    answer: ({ facts, projectId }, _bytes, reply) => {
      const answering = new TrackResponder(parts, reply);
      if (answering.isLimited(facts, parts.clock.nowMs())) return undefined;
      const credentials = credentialsOf(facts, { clientId: '', clientSecret: '', projectId });
      return withCaller(parts.collector.caller(credentials), answering, (caller) => {
        const rejection = parts.collector.findVisitor(caller, facts, answering);
        if (rejection !== undefined) answering.rejected(rejection);
        return undefined;
      });
    },
  });
}

function readIdentifyFacts(head: RequestHead, proxies: TrustedProxies): IdentifyFacts {
  const facts = readRequestFacts(head, proxies);
  const projectId = new URLSearchParams(head.query).get('projectId') ?? '';
  if (facts.origin !== '') return { facts, projectId };
  // A page asks its own host without an Origin header; the Referer then says where the page is from.
  const referer = head.header('referer');
  const origin = URL.canParse(referer) ? new URL(referer).origin : '';
  return { facts: { ...facts, origin }, projectId };
}

/** Goes on with a caller who may send; refuses everybody else. Waits only for a secret that is new to this node. */
function withCaller(
  verdict: CallerVerdict | Promise<CallerVerdict>,
  answering: TrackResponder,
  proceed: (caller: Caller) => Promise<void> | undefined,
): Promise<void> | undefined {
  if (verdict instanceof Promise) return verdict.then((known) => withCaller(known, answering, proceed));
  if (!isReject(verdict)) return proceed(verdict);
  answering.rejected(verdict);
  return undefined;
}

/** A beacon sends text/plain, and some senders nothing at all; both are read as JSON. */
function isJsonType(contentType: string): boolean {
  if (contentType === 'application/json' || contentType === '') return true;
  const name = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  return name === 'application/json' || name === 'text/plain' || /^application\/[\w.-]+\+json$/.test(name);
}
