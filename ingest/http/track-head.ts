import type { CpuBudget } from '../../infra/accounts/cpu-budget.ts';
import type { Clock } from '../../infra/clock.ts';
import type { Admission } from '../../infra/http/http.ts';
import type { Reply } from '../../infra/http/open-reply.ts';
import type { Collector } from '../collect/collector.ts';
import { type Caller, type HeadVerdict, isReject } from '../identity/caller.ts';
import type { Reject } from '../request/reject.ts';
import type { RequestFacts } from '../request/request-facts.ts';
import { EVENT_ID_MAX } from '../request/track-request.ts';
import { isOverloaded, type LoadDeps, networkOf } from './load.ts';
import { TrackResponder, type TrackResponderDeps } from './track-responder.ts';

export interface AdmissionDeps extends TrackResponderDeps, LoadDeps {
  readonly collector: Pick<Collector, 'callerByHead' | 'publishDue'>;
  readonly clock: Clock;
}

/** A collection request whose body is still to be read. */
export interface TrackHead {
  readonly facts: RequestFacts;
  /** Undefined until the request is admitted, and if the body names the sender. */
  caller: Caller | undefined;
  responder: TrackResponder | undefined;
  /** The head had a right secret. */
  isProven: boolean;
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

/**
 * Checks the head before the body is read: load, limit, content type, client. A wrong secret costs no memory for a body that comes with it.
 */
export function admitTrack(
  deps: AdmissionDeps,
  head: TrackHead,
  reply: Reply,
  mayAddSecret: boolean,
): Admission {
  const responder = new TrackResponder(deps, reply);
  head.responder = responder;
  const { facts } = head;
  if (isOverloaded(deps, facts, responder) || responder.isLimited(facts, deps.clock.nowMs()))
    return 'answered';
  const isLong = facts.idempotencyKey.length > EVENT_ID_MAX;
  if (isLong || !isJsonType(facts.contentType)) {
    countRejectedHead(deps, facts);
    responder.rejected(isLong ? LONG_KEY : NOT_JSON_TYPE);
    return 'answered';
  }
  return admissionOf(deps, deps.collector.callerByHead(facts, mayAddSecret), head, responder);
}

function admissionOf(
  deps: AdmissionDeps,
  { verdict, isProven }: HeadVerdict,
  head: TrackHead,
  responder: TrackResponder,
): Admission {
  if (verdict !== undefined && isReject(verdict)) {
    countRejectedHead(deps, head.facts);
    responder.rejected(verdict);
    return 'answered';
  }
  head.caller = verdict;
  head.isProven = isProven;
  return isProven ? 'proven' : 'stranger';
}

/** The owner of the memory and work that a request takes. */
export function bodyOwnerOf({ facts, isProven }: TrackHead): string {
  return isProven ? facts.client.clientId : networkOf(facts);
}

/** Heads are not measured, which would cost as much as reading them. A wrong secret is answered by its head, and counted by the guard. */
function countRejectedHead({ cpu }: AdmissionDeps, facts: RequestFacts): void {
  if (facts.client.clientSecret === '') cpu.countRejected(networkOf(facts), cpu.begin());
}

interface BodyWork {
  readonly owner: string;
  readonly isProven: boolean;
  readonly isRejected: boolean;
  /** Work before `begunMs` that was counted already, in milliseconds. */
  readonly earlierMs?: number;
}

/** Counts the work on a body since `begunMs`; a stranger's that was rejected, against the absolute limit, too. */
export function countWork(
  cpu: CpuBudget,
  { owner, isProven, isRejected, earlierMs = 0 }: BodyWork,
  begunMs: number,
): void {
  cpu.count(owner, begunMs);
  if (isRejected && !isProven) cpu.countRejected(owner, begunMs - earlierMs);
}

/** Beacons send text/plain, and some senders send no type; both are read as JSON. */
function isJsonType(contentType: string): boolean {
  if (contentType === 'application/json' || contentType === '') return true;
  const name = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  return name === 'application/json' || name === 'text/plain' || /^application\/[\w.-]+\+json$/.test(name);
}
