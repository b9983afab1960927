import type { WorkTurn } from '../../infra/concurrency/turns.ts';
import type { HttpServer } from '../../infra/http/http.ts';
import type { Allowance } from '../../infra/http/limit-headers.ts';
import type { Exclusion, TrackOutcome } from '../collect/track-outcome.ts';
import type { TrackedEntity } from '../collect/tracked-entity.ts';
import { type Caller, CallerCredentials, isReject } from '../identity/caller.ts';
import type { Reject } from '../request/reject.ts';
import { type RequestFacts, readRequestFacts } from '../request/request-facts.ts';
import { type BatchBody, BatchReader, type BodyReject, type ParsedBody } from '../request/track-request.ts';
import { COLLECTION_CORS, type RouteDeps } from './routes.ts';
import { admitTrack, bodyOwnerOf, countWork, type TrackHead } from './track-head.ts';
import { exclusionReason, type RejectedBody, TrackResponder } from './track-responder.ts';

const BATCH_MAX_BYTES = 4_194_304;
/** Maximum number of a batch's events that wait for their sessions and the bus, so that events of other requests come between them. */
const IN_FLIGHT_MAX = 250;

/** `POST /track/batch`: many bodies in one request. One bad body does not fail the others. */
export function addBatchRoute(http: HttpServer, deps: RouteDeps, prefix: string): void {
  http.route<TrackHead>({
    method: 'post',
    pattern: `${prefix}/track/batch`,
    bodyMaxBytes: BATCH_MAX_BYTES,
    cors: COLLECTION_CORS,
    readHead: (head) => {
      const facts = readRequestFacts(head, deps.proxies);
      // Bodies wait for one another, and the connection may be gone meanwhile: its address is read now.
      void facts.claims.peer;
      return { facts, caller: undefined, responder: undefined, isProven: false };
    },
    admit: (head, reply) => admitTrack(deps, head, reply, false),
    ownerOf: bodyOwnerOf,
    answer: async (head, bytes, reply) => {
      const { facts, caller } = head;
      const responder = head.responder ?? new TrackResponder(deps, reply);
      const turn = new CountedTurn(deps, head);
      const batch = await readBatch(bytes, turn);
      if (batch.kind === 'reject') {
        responder.rejected({ reason: batch.reason, status: 400, message: batch.message });
        turn.end(responder.hasRejected);
        return;
      }
      // With the request's idempotency key, all bodies would count as one event.
      const sender = { facts: { ...facts, idempotencyKey: '' }, caller };
      const result = await takeBatch(deps, sender, batch, turn);
      if ('reason' in result) responder.rejected(result);
      else {
        if (result.rate !== undefined) responder.noteRate(result.rate);
        responder.counted(result.accepted, result.rejected);
      }
      turn.end(false);
    },
  });
}

/** The turns of one batch, whose work counts against its sender. */
class CountedTurn {
  readonly #deps: Pick<RouteDeps, 'collector' | 'cpu'>;
  readonly #owner: string;
  readonly #isProven: boolean;
  readonly #turn: WorkTurn;
  #begunMs: number;
  /** The work of the turns before this one. */
  #earlierMs = 0;
  /** True once the bus has taken nothing for a second. The batch then stops waiting, and is refused like any other request. */
  #isStalled = false;

  constructor(deps: Pick<RouteDeps, 'collector' | 'cpu' | 'turns'>, head: TrackHead) {
    this.#deps = deps;
    this.#owner = bodyOwnerOf(head);
    this.#isProven = head.isProven;
    this.#turn = deps.turns.begin();
    this.#begunMs = deps.cpu.begin();
  }

  isOver(): boolean {
    return this.#turn.isOver();
  }

  next(): Promise<void> {
    return this.during(this.#turn.next());
  }

  /** True if the next value has to wait for another turn, or for room in front of the bus. */
  get mustPause(): boolean {
    return this.isOver() || this.#isCrowded;
  }

  /** Resolves in the next turn in which there is room. */
  async pause(): Promise<void> {
    await this.next();
    while (this.#isCrowded) {
      this.#isStalled = !(await this.during(this.#deps.collector.room()));
      await this.next();
    }
  }

  get #isCrowded(): boolean {
    return !this.#isStalled && this.#deps.collector.isCrowded;
  }

  /** Waits without counting. */
  async during<Result>(wait: Promise<Result>): Promise<Result> {
    this.#earlierMs += this.#deps.cpu.begin() - this.#begunMs;
    this.end(false);
    const result = await wait;
    this.#begunMs = this.#deps.cpu.begin();
    return result;
  }

  /** Counts the work since the last wait. If a stranger's batch is rejected, all of its work counts against the stranger's limit. */
  end(isRejected: boolean): void {
    const work = { owner: this.#owner, isRejected, isProven: this.#isProven, earlierMs: this.#earlierMs };
    countWork(this.#deps.cpu, work, this.#begunMs);
  }
}

async function readBatch(bytes: Uint8Array, turn: CountedTurn): Promise<BatchBody | BodyReject> {
  const reader = new BatchReader(bytes);
  while (reader.readNext()) if (turn.isOver()) await turn.next();
  return reader.result();
}

/** The sender of a batch. Without a caller, each body names its sender. */
interface BatchSender {
  readonly facts: RequestFacts;
  readonly caller: Caller | undefined;
}

interface BatchResult {
  readonly accepted: number;
  readonly rejected: readonly RejectedBody[];
  /** The remaining event rate of the site of the last counted body. */
  readonly rate: Allowance | undefined;
}

/** Takes all bodies in their order, even if the sender has gone meanwhile: it may not wait for answers. */
async function takeBatch(
  deps: RouteDeps,
  sender: BatchSender,
  batch: BatchBody,
  turn: CountedTurn,
): Promise<BatchResult | Reject> {
  const outcomes = batch.bodies.map(() => new BodyOutcome(deps));
  const events: BodyOutcome[] = [];
  const updates: TrackedEntity[] = [];
  for (const [index, body] of batch.bodies.entries()) {
    if (turn.mustPause) await turn.pause();
    const outcome = outcomes[index];
    if (outcome === undefined) continue;
    const entity = await takeBody(deps, sender, body, outcome);
    if (entity === undefined) events.push(outcome);
    else updates.push(entity);
    const earlier = events[events.length - IN_FLIGHT_MAX];
    if (earlier?.isOpen) await turn.during(earlier.done);
  }
  // Checks wait for the bus. All are done before the first update is published, so updates keep their order.
  const checks = await inTurns(updates, turn, (entity) => entity.check());
  const accepted = await turn.during(Promise.all(checks));
  const published = await inTurns(updates, turn, (entity, index) =>
    accepted[index] ? entity.publish() : undefined,
  );
  await turn.during(Promise.all([...published, ...outcomes.map((outcome) => outcome.done)]));
  return resultOf(outcomes);
}

/** Calls `begin` for each update in their order, and returns the results without waiting for them. */
async function inTurns<Result>(
  updates: readonly TrackedEntity[],
  turn: CountedTurn,
  begin: (entity: TrackedEntity, index: number) => Promise<Result> | undefined,
): Promise<(Promise<Result> | undefined)[]> {
  const begun: (Promise<Result> | undefined)[] = [];
  for (const [index, entity] of updates.entries()) {
    if (turn.mustPause) await turn.pause();
    const result = begin(entity, index);
    // All are waited for together, and one may fail in an earlier turn.
    result?.catch(() => {});
    begun.push(result);
  }
  return begun;
}

/** Takes an event immediately. Returns an update of an entity, which the caller checks and publishes. */
async function takeBody(
  deps: RouteDeps,
  { facts, caller: known }: BatchSender,
  body: ParsedBody,
  outcome: BodyOutcome,
): Promise<TrackedEntity | undefined> {
  if (body.kind === 'reject') {
    outcome.rejected({
      reason: body.reason,
      status: body.reason === 'too-large' ? 413 : 400,
      message: body.message,
    });
    return undefined;
  }
  const caller = known ?? deps.collector.caller(new CallerCredentials(facts, body));
  if (isReject(caller)) {
    outcome.rejected(caller);
    return undefined;
  }
  if (body.kind === 'track') deps.collector.trackEvent({ caller, facts, body, outcome });
  else if (body.kind === 'replay') deps.collector.excludeReplay({ caller, facts, body, outcome });
  else return deps.collector.trackEntity({ caller, facts, body, outcome }, false);
  return undefined;
}

function resultOf(outcomes: readonly BodyOutcome[]): BatchResult | Reject {
  const rejected: RejectedBody[] = [];
  let firstBusy: Reject | undefined;
  let busyBodies = 0;
  let rate: Allowance | undefined;
  for (const [index, { outcome, allowance }] of outcomes.entries()) {
    rate = allowance ?? rate;
    if (outcome === undefined) continue;
    rejected.push({ index, status: outcome.status, message: outcome.message });
    if (outcome.status !== 503) continue;
    busyBodies += 1;
    firstBusy ??= { reason: 'in-flight', status: 503, message: outcome.message };
  }
  // Nothing was recorded and the batch itself is sound: the sender may repeat all of it.
  if (firstBusy !== undefined && busyBodies === outcomes.length) return firstBusy;
  return { accepted: outcomes.length - rejected.length, rejected, rate };
}

/** Remembers the outcome of one body of a batch. */
class BodyOutcome implements TrackOutcome {
  readonly #deps: RouteDeps;
  #settle: () => void = () => {};
  /** True until the outcome is known. */
  isOpen = true;
  /** Resolves when the outcome is known. */
  readonly done: Promise<void>;
  /** Undefined when the body was recorded. */
  outcome: { readonly status: number; readonly message: string } | undefined;
  /** The rest of its site's event rate; undefined where the site has none. */
  allowance: Allowance | undefined;

  constructor(deps: RouteDeps) {
    this.#deps = deps;
    this.done = new Promise((resolve) => {
      this.#settle = () => {
        this.isOpen = false;
        resolve();
      };
    });
  }

  stored(): void {
    this.#settle();
  }

  noteRate(allowance: Allowance): void {
    this.allowance = allowance;
  }

  excluded(exclusion: Exclusion): void {
    this.#deps.excluded[exclusion.kind].add();
    this.outcome = { status: 202, message: exclusionReason(exclusion) };
    this.#settle();
  }

  rejected({ reason, status, message }: Reject): void {
    this.#deps.rejects[reason].add();
    this.outcome = { status, message };
    this.#settle();
  }
}
