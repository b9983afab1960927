import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import { Turns } from '../../infra/concurrency/turns.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import type { LaneName, ServiceLanes } from '../../infra/process/service-lanes.ts';
import { laneOf } from '../event.ts';
import {
  decodeSessionAnswers,
  encodeSessionQuestions,
  SESSION_LOOKUP_MAX,
  type SessionAnswer,
  type SessionQuestion,
  sessionLookupSubjectOf,
} from '../session-lookup.ts';

/** The interval at which a silent owner is probed. Meanwhile no event waits for it. */
const PROBE_EVERY_MS = 250;
/**
 * The time for one question before it is asked again: an owner answers or refuses within two seconds. An owner that has
 * just given the lane up may have lost the question.
 */
const TRY_MAX_MS = 2_500;
/** The pause before another try when the lane has no owner, or when the owner cannot answer. */
const NOBODY_WAIT_MS = 50;
/** Questions in one queue at most; further ones are not asked. */
const WAITING_MAX = 50_000;
/** Each lane has two queues: one for open sessions, one for credit. */
const QUEUES_PER_LANE = 2;

/** Receives the answer; `candidate` identifies the question. Undefined means that the owner cannot be reached, or cannot know. */
export interface AnswerListener<Candidate> {
  answered(candidate: Candidate, answer: SessionAnswer | undefined): void;
}

interface PendingQuestion {
  readonly question: SessionQuestion;
  answered(answer: SessionAnswer | undefined): void;
}

interface QuestionQueue {
  readonly lane: LaneName;
  /** The service has grown: its questions go to other lanes. */
  isOver: boolean;
  waiting: PendingQuestion[];
  busy: boolean;
  /** The owner did not answer and is not known to be back. */
  silent: boolean;
}

/**
 * Asks the owners of the lanes. One question per queue is in flight. Devices that come meanwhile, or within one
 * iteration of the event loop, share the next one, so answers come in the order of the questions.
 *
 * Questions for credit have their own queue, because the owner may have to read the store for them. Page views do not
 * wait for these, and do not see a silent owner when the store is slow.
 */
export class SessionQuestions {
  readonly #bus: Bus;
  readonly #timeoutMs: number;
  readonly #lanes: ServiceLanes;
  /** Divides the work after an answer: its event is encoded. */
  readonly #turns = new Turns();
  #queues: readonly QuestionQueue[];
  readonly #unlisten: () => void;
  #stopped = false;
  readonly #failures: Counter;
  readonly #lookups: Counter;

  constructor(options: {
    readonly bus: Bus;
    readonly metrics: Metrics;
    readonly lanes: ServiceLanes;
    readonly timeoutMs: number;
  }) {
    this.#bus = options.bus;
    this.#timeoutMs = options.timeoutMs;
    this.#lanes = options.lanes;
    this.#queues = queuesOf(options.lanes);
    this.#unlisten = options.lanes.onChange(() => this.#renew());
    this.#failures = options.metrics.counter(
      'ingest_session_lookup_failures_total',
      'session look-ups without an answer of the owner',
    );
    this.#lookups = options.metrics.counter(
      'ingest_session_lookups_total',
      'session look-ups sent to owners, for many devices each',
    );
  }

  /** False when the owner cannot be asked now; `listener.answered` is not called then. */
  ask<Candidate>(
    question: SessionQuestion,
    listener: AnswerListener<Candidate>,
    candidate: Candidate,
  ): boolean {
    return this.#ask({ question, answered: (answer) => listener.answered(candidate, answer) });
  }

  #ask(pending: PendingQuestion): boolean {
    const { projectId, deviceId, eventId, credit } = pending.question;
    const lane = laneOf(projectId, deviceId || eventId, this.#lanes.layout);
    const queue = this.#queues[lane * QUEUES_PER_LANE + (credit ? 1 : 0)];
    if (queue === undefined || queue.silent) return false;
    if (queue.waiting.length >= WAITING_MAX) return false;
    queue.waiting.push(pending);
    if (!queue.busy) {
      queue.busy = true;
      setImmediate(() => void this.#askAll(queue)); // Handles its own failures.
    }
    return true;
  }

  async #askAll(queue: QuestionQueue): Promise<void> {
    while (queue.waiting.length > 0) {
      const group = queue.waiting.slice(0, SESSION_LOOKUP_MAX);
      queue.waiting = queue.waiting.slice(SESSION_LOOKUP_MAX);
      if (queue.silent && !queue.isOver) {
        for (const pending of group) pending.answered(undefined);
        continue;
      }
      const answers = queue.isOver ? undefined : await this.#askGroup(queue, group);
      if (answers === undefined && queue.isOver) {
        for (const pending of group) if (!this.#ask(pending)) pending.answered(undefined);
        continue;
      }
      const turn = this.#turns.begin();
      for (let index = 0; index < group.length; index += 1) {
        if (turn.isOver()) await turn.next();
        const answer = answers?.[index];
        group[index]?.answered(answer?.kind === 'unknown' ? undefined : answer);
      }
    }
    queue.busy = false;
  }

  /**
   * A lane has no owner for a moment while its processor restarts or hands it over, and an owner that is about to stop says that it
   * cannot answer. So this asks again, up to the time limit; undefined when the owner could not answer until then, or when its lane
   * has no part in the service any more.
   */
  async #askPatiently(
    queue: QuestionQueue,
    bytes: Uint8Array,
  ): Promise<readonly SessionAnswer[] | undefined> {
    const endMs = performance.now() + this.#timeoutMs;
    while (!queue.isOver) {
      const leftMs = Math.min(TRY_MAX_MS, Math.max(1, endMs - performance.now()));
      try {
        const answers = decodeSessionAnswers(
          await this.#bus.ask(sessionLookupSubjectOf(queue.lane), bytes, leftMs),
        );
        if (answers !== undefined) return answers;
      } catch (error) {
        const isGone =
          error instanceof BusError && (error.reason === 'no-responders' || error.reason === 'timeout');
        if (!isGone) throw error;
      }
      if (endMs - performance.now() <= NOBODY_WAIT_MS) return undefined;
      await wait(NOBODY_WAIT_MS);
    }
    return undefined;
  }

  /** The service has grown: questions go to its new lanes, also those that wait. */
  #renew(): void {
    if (this.#queues.length === this.#lanes.count * QUEUES_PER_LANE) return;
    for (const queue of this.#queues) queue.isOver = true;
    this.#queues = queuesOf(this.#lanes);
  }

  /** Sends empty questions until the owner answers one. */
  async #probe(queue: QuestionQueue): Promise<void> {
    const nothing = encodeSessionQuestions([]);
    while (queue.silent && !queue.isOver && !this.#stopped) {
      await wait(PROBE_EVERY_MS, undefined, { ref: false });
      try {
        const answer = await this.#bus.ask(sessionLookupSubjectOf(queue.lane), nothing, PROBE_EVERY_MS);
        if (decodeSessionAnswers(answer) !== undefined) queue.silent = false;
      } catch {
        // Still silent.
      }
    }
  }

  /** Stops the probes. */
  stop(): void {
    this.#stopped = true;
    this.#unlisten();
  }

  async #askGroup(
    queue: QuestionQueue,
    group: readonly PendingQuestion[],
  ): Promise<readonly SessionAnswer[] | undefined> {
    this.#lookups.add();
    try {
      const bytes = encodeSessionQuestions(group.map(({ question }) => question));
      const answers = await this.#askPatiently(queue, bytes);
      if (answers?.length === group.length) return answers;
    } catch {
      // Counted below. The event continues with an id that every node derives alike.
    }
    if (queue.isOver) return undefined;
    this.#failures.add();
    queue.silent = true;
    void this.#probe(queue); // Ends by itself; its failures are not counted again.
    return undefined;
  }
}

function queuesOf(lanes: ServiceLanes): readonly QuestionQueue[] {
  return Array.from({ length: lanes.count * QUEUES_PER_LANE }, (_, index) => ({
    lane: lanes.nameOf(Math.floor(index / QUEUES_PER_LANE)),
    isOver: false,
    waiting: [],
    busy: false,
    silent: false,
  }));
}
