import type { HttpServer } from '../../infra/http/http.ts';
import type { TrackOutcome } from '../collect/track-outcome.ts';
import type { TrackedEntity } from '../collect/tracked-entity.ts';
import type { Bot } from '../enrich/bot.ts';
import { isReject } from '../identity/caller.ts';
import type { Reject } from '../request/reject.ts';
import { type RequestFacts, readRequestFacts } from '../request/request-facts.ts';
import type { SenderClaims } from '../request/sender-claims.ts';
import { type BatchBody, type ParsedBody, parseBatchBody } from '../request/track-request.ts';
import { COLLECTION_CORS, credentialsOf, isRefusedByHead, type RouteDeps } from './routes.ts';
import { type RejectedBody, TrackResponder } from './track-responder.ts';

const BATCH_MAX_BYTES = 4_194_304;
const NO_CLAIMS: SenderClaims = { clientId: '', clientSecret: '', projectId: '' };

/** `POST /track/batch`: many bodies in one request. One bad body does not fail the others. */
export function addBatchRoute(http: HttpServer, parts: RouteDeps, prefix: string): void {
  http.route<RequestFacts>({
    method: 'post',
    pattern: `${prefix}/track/batch`,
    bodyMaxBytes: BATCH_MAX_BYTES,
    cors: COLLECTION_CORS,
    readHead: (head) => readRequestFacts(head, parts.proxies),
    answer: async (facts, bytes, reply) => {
      const answering = new TrackResponder(parts, reply);
      if (isRefusedByHead(parts, facts, answering)) return;
      const batch = parseBatchBody(bytes);
      if (batch.kind === 'reject') {
        answering.rejected({ reason: batch.reason, status: 400, message: batch.message });
        return;
      }
      // An idempotency key of the request would make all of its bodies one.
      const outcome = await takeBatch(parts, { ...facts, idempotencyKey: '' }, batch);
      if (isRejectionOf(outcome)) answering.rejected(outcome);
      else answering.counted(outcome.accepted, outcome.rejected);
    },
  });
}

interface Counted {
  readonly accepted: number;
  readonly rejected: readonly RejectedBody[];
}

async function takeBatch(parts: RouteDeps, facts: RequestFacts, batch: BatchBody): Promise<Counted | Reject> {
  const wrong = await wrongClient(parts, facts);
  if (wrong !== undefined) return wrong;
  const receipts = batch.bodies.map(() => new BodyOutcome(parts));
  const updates: { readonly request: TrackedEntity; readonly receipt: BodyOutcome }[] = [];
  for (const [index, body] of batch.bodies.entries()) {
    const receipt = receipts[index];
    if (receipt === undefined) continue;
    const request = await takeBody(parts, facts, body, receipt);
    if (request !== undefined) updates.push({ request, receipt });
  }
  // All are checked before the first is published, so that they are published in their order.
  const rejections = await Promise.all(updates.map(({ request }) => request.check()));
  const published = updates.map(({ request, receipt }, index) => {
    const rejection = rejections[index];
    if (rejection === undefined) return request.publish();
    receipt.rejected(rejection);
    return undefined;
  });
  await Promise.all([...published, ...receipts.map((receipt) => receipt.settled)]);
  return countedOf(receipts);
}

/** Takes an event in at once; an update of a record is given back, to be published in its turn. */
async function takeBody(
  parts: RouteDeps,
  facts: RequestFacts,
  body: ParsedBody,
  receipt: BodyOutcome,
): Promise<TrackedEntity | undefined> {
  if (body.kind === 'reject') {
    receipt.rejected({
      reason: body.reason,
      status: body.reason === 'too-large' ? 413 : 400,
      message: body.message,
    });
    return undefined;
  }
  const caller = await parts.collector.caller(credentialsOf(facts, body));
  if (isReject(caller)) {
    receipt.rejected(caller);
    return undefined;
  }
  if (body.kind !== 'track')
    return parts.collector.trackEntity({ caller, facts, body, outcome: receipt }, false);
  parts.collector.trackEvent({ caller, facts, body, outcome: receipt });
  return undefined;
}

/** A client that the headers name and that may not send at all fails the batch as a whole. */
async function wrongClient(parts: RouteDeps, facts: RequestFacts): Promise<Reject | undefined> {
  if (facts.client.clientId === '') return undefined;
  const verdict = await parts.collector.caller(credentialsOf(facts, NO_CLAIMS));
  // The site may still be named by each body.
  return isReject(verdict) && verdict.reason !== 'no-site' ? verdict : undefined;
}

function countedOf(receipts: readonly BodyOutcome[]): Counted | Reject {
  const rejected: RejectedBody[] = [];
  let firstBusy: Reject | undefined;
  let busyBodies = 0;
  for (const [index, { outcome }] of receipts.entries()) {
    if (outcome === undefined) continue;
    rejected.push({ index, status: outcome.status, message: outcome.message });
    if (outcome.status !== 503) continue;
    busyBodies += 1;
    firstBusy ??= { reason: 'in-flight', status: 503, message: outcome.message };
  }
  // Nothing was taken and nothing is wrong with it: the sender may repeat the whole.
  if (firstBusy !== undefined && busyBodies === receipts.length) return firstBusy;
  return { accepted: receipts.length - rejected.length, rejected };
}

function isRejectionOf(outcome: Counted | Reject): outcome is Reject {
  return 'reason' in outcome;
}

/** Keeps what became of one body of a batch. */
class BodyOutcome implements TrackOutcome {
  readonly #parts: RouteDeps;
  #settle: () => void = () => {};
  /** Resolves when it is known. */
  readonly settled: Promise<void>;
  /** Undefined when the body was taken. */
  outcome: { readonly status: number; readonly message: string } | undefined;

  constructor(parts: RouteDeps) {
    this.#parts = parts;
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  stored(): void {
    this.#settle();
  }

  excluded(bot: Bot | undefined): void {
    this.#parts.excluded[bot === undefined ? 'filter' : 'bot'].add();
    this.outcome = { status: 202, message: bot === undefined ? 'filtered' : `bot: ${bot.name}` };
    this.#settle();
  }

  rejected({ reason, status, message }: Reject): void {
    this.#parts.rejects[reason].add();
    this.outcome = { status, message };
    this.#settle();
  }
}
