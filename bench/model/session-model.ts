import { must } from '../../infra/assert.ts';
import type { Clock } from '../../infra/clock.ts';
import { Metrics } from '../../infra/metrics.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { OpenSessionsReplica } from '../../ingest/collect/open-sessions-replica.ts';
import type { AnswerListener } from '../../ingest/collect/session-questions.ts';
import { type FoundSession, Sessions } from '../../ingest/collect/sessions.ts';
import {
  DeviceHash,
  decodeOpenSessionsChanges,
  decodeOpenSessionsPiece,
  decodeOpenSessionsQuestion,
  encodeOpenSessionsChanges,
  encodeOpenSessionsPiece,
  encodeOpenSessionsQuestion,
  type OpenSessionsEntries,
} from '../../ingest/open-sessions.ts';
import type { SessionAnswer, SessionQuestion } from '../../ingest/session-lookup.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import type { SeededRandom } from '../../ingest/testing/random.ts';
import { openSnapshot, takeOpenChanges } from '../../processor/fold/open-changes.ts';
import { createOpenDevices } from '../../processor/fold/open-devices.ts';
import { answerSessions, dependsOnLag } from '../../processor/fold/session-answers.ts';
import type { ReferenceEvent } from '../../processor/testing/reference.ts';
import { FoldRun, messageOf } from '../../processor/testing/run.ts';

const SITE = storedId('demo');
const SEND_EVERY_MS = 500;
/** The owner sends for this long after a question or an event, and begins this long before a long rest ends. */
const LINGER_MS = 5_000;
const ENTRIES_PER_PIECE = 3;
const ASK_TIMEOUT_MS = 2_000;
const EMPTY_PROMISE_ROUNDS = 3;

/** The possible failures, each as a probability, and the delays. */
export interface SessionModelOptions {
  readonly random: SeededRandom;
  readonly startMs: number;
  /** Offsets of the collectors' clocks ahead of the owner's; one collector each. */
  readonly skewsMs: readonly number[];
  /** Longest time of an event on its way to the bus, of a question or an answer, and of changes. */
  readonly publishMaxMs: number;
  readonly askMaxMs: number;
  readonly changesMaxMs: number;
  readonly changesLost: number;
  readonly publishFails: number;
}

/** An event that was answered, and how. */
export interface AnsweredEvent {
  readonly path: string;
  readonly kind: FoundSession['kind'];
  readonly sessionId: string;
}

interface Collector {
  readonly clock: Clock;
  sessions: Sessions;
  replica: OpenSessionsReplica;
  /** When its newest event and the newest changes arrive: both keep their order. */
  publishedMs: number;
  heardMs: number;
  loading: boolean;
}

/**
 * Collectors and the owner of one lane in one process, without bus and store. All decisions are made by the real code: the
 * collectors' `Sessions` and `OpenSessionsReplica`, the messages of the contract, the owner's answers, its list and the fold.
 * Messages take time, get lost, or are delayed, in virtual time.
 */
export class SessionModel {
  readonly #options: SessionModelOptions;
  readonly #collectors: readonly Collector[];
  readonly #plans: { readonly atMs: number; readonly order: number; readonly act: () => void }[] = [];
  readonly run: FoldRun = new FoldRun();
  readonly answered: AnsweredEvent[] = [];
  /** The arrivals at the fold, in order. */
  readonly arrivals: ReferenceEvent[] = [];
  readonly #stream: Buffer[] = [];
  readonly #streamed: ReferenceEvent[] = [];
  events = 0;
  asked = 0;
  #nowMs: number;
  #order = 0;
  #incarnation = 1;
  #number = 0;
  #markMs = 0;
  #isOwnerUp = true;
  #isSending = false;
  #activeUntilMs = 0;
  #behindUntilMs = 0;
  #snapshot:
    | { readonly number: number; readonly markMs: number; readonly entries: OpenSessionsEntries }
    | undefined;
  #sequence = 0;

  constructor(options: SessionModelOptions) {
    this.#options = options;
    this.#nowMs = options.startMs;
    this.#follow();
    this.#collectors = options.skewsMs.map((skewMs) => {
      const clock: Clock = { nowMs: () => this.#nowMs + skewMs };
      const collector: Collector = {
        clock,
        sessions: undefined as unknown as Sessions,
        replica: new OpenSessionsReplica(10_000),
        publishedMs: 0,
        heardMs: 0,
        loading: false,
      };
      this.#begin(collector);
      return collector;
    });
    this.#wake();
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** The stored values of each event, by its path. */
  stored(): ReadonlyMap<unknown, Readonly<Record<string, unknown>>> {
    const views = this.run.events.filter(({ values }) => values.name === 'screen_view');
    return new Map(views.map(({ values }) => [values.path, values]));
  }

  /** Lets time pass, with all that happens in it; shortly before its end other traffic makes the owner send. */
  advance(ms: number): void {
    if (ms > LINGER_MS) {
      this.#pass(ms - LINGER_MS);
      this.#wake();
      this.#pass(LINGER_MS);
    } else this.#pass(ms);
  }

  #pass(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (let next = this.#plans[0]; next !== undefined && next.atMs <= untilMs; next = this.#plans[0]) {
      this.#plans.shift();
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.act();
    }
    this.#nowMs = untilMs;
  }

  /** An event comes to a collector; `lateMs` before it happened. */
  send(index: number, deviceId: string, lateMs = 0): void {
    const collector = this.#collector(index);
    const receivedAtMs = collector.clock.nowMs();
    const occurredAtMs = receivedAtMs - lateMs;
    this.events += 1;
    const path = `/${this.events}`;
    const found = (session: FoundSession) => {
      const { kind, sessionId } = session;
      const certain = kind !== 'derived';
      const draft = { projectId: SITE, deviceId, occurredAtMs, receivedAtMs, path, sessionId };
      const event = plainEvent({ ...draft, certain });
      collector.publishedMs = Math.max(collector.publishedMs, this.#nowMs + this.#publishMs());
      const fails = this.#options.random.chance(this.#options.publishFails);
      this.#plan(collector.publishedMs - this.#nowMs, () => {
        if (fails) {
          collector.sessions.evict(SITE, session);
          return;
        }
        this.#wake();
        this.#sequence += 1;
        this.#stream.push(messageOf([event], this.#sequence));
        this.#streamed.push(event);
        this.answered.push({ path, kind, sessionId });
      });
    };
    const request = { siteId: SITE, deviceId, earlierDeviceId: '', occurredAtMs, eventId: '', found };
    const known = collector.sessions.find({ ...request, credit: false, isDelayed: false, readOnly: false });
    if (known !== undefined) found(known);
  }

  /** A collector restarts: it knows nothing. */
  restartCollector(index: number): void {
    const collector = this.#collector(index);
    collector.replica = new OpenSessionsReplica(10_000);
    collector.loading = false;
    this.#begin(collector);
    this.#load(collector);
  }

  /** The owner restarts, and answers nothing for a while. */
  restartOwner(downMs: number): void {
    if (!this.#isOwnerUp) return;
    this.#isOwnerUp = false;
    this.#plan(downMs, () => {
      this.run.crash();
      this.#follow();
      this.#incarnation += 1;
      this.#number = 0;
      this.#markMs = 0;
      this.#snapshot = undefined;
      this.#isOwnerUp = true;
    });
  }

  /** The owner is busy for a while: it folds only as much as an answer needs, and sends nothing. */
  stall(ms: number): void {
    this.#behindUntilMs = this.#nowMs + ms;
  }

  /** Moves folded events to the store. */
  flush(): void {
    if (this.#isOwnerUp) this.run.flush();
  }

  /** Ends everything: pending messages arrive, and everything is in the store. */
  end(): void {
    this.advance(60_000);
    this.#fold();
    this.run.flush();
  }

  #collector(index: number): Collector {
    return must(this.#collectors[index % this.#collectors.length], 'no collector');
  }

  #begin(collector: Collector): void {
    const hash = new DeviceHash();
    const { replica, clock } = collector;
    collector.sessions = new Sessions({
      openSessions: {
        find: (siteId, deviceId, nowMs) => {
          const { high, low } = hash.of(siteId, deviceId);
          return replica.find(high, low, nowMs);
        },
        stop: () => {},
      },
      questions: {
        ask: (question, listener, candidate) => this.#ask(question, listener, candidate),
        stop: () => {},
      },
      knownMax: 10_000,
      clock,
      metrics: new Metrics(),
    });
  }

  #follow(): void {
    this.run.state.openDevices = createOpenDevices(10_000);
  }

  #fold(): void {
    for (const message of this.#stream.splice(0)) this.run.take(message);
    this.arrivals.push(...this.#streamed.splice(0));
  }

  #ask<Candidate>(
    question: SessionQuestion,
    listener: AnswerListener<Candidate>,
    candidate: Candidate,
  ): boolean {
    this.asked += 1;
    this.#wake();
    const { random, askMaxMs } = this.#options;
    this.#plan(random.integer(1, askMaxMs), () => {
      if (!this.#isOwnerUp) {
        this.#plan(ASK_TIMEOUT_MS, () => listener.answered(candidate, undefined));
        return;
      }
      // The owner folds by itself, too, so half of the time it is ahead of the fold that a question needs.
      const isAhead = this.#nowMs >= this.#behindUntilMs && random.chance(0.5);
      if (isAhead || dependsOnLag(this.run.state, [question], this.#nowMs)) this.#fold();
      const [answer] = answerSessions(this.run.state, [question], { nowMs: this.#nowMs, ended: new Map() });
      const given: SessionAnswer = must(answer, 'no answer');
      this.#plan(random.integer(1, askMaxMs), () => listener.answered(candidate, given));
    });
    return true;
  }

  #wake(): void {
    this.#activeUntilMs = this.#nowMs + LINGER_MS;
    if (this.#isSending) return;
    this.#isSending = true;
    this.#plan(0, () => this.#send());
  }

  #send(): void {
    this.#isSending = this.#nowMs < this.#activeUntilMs;
    if (this.#isSending) this.#plan(SEND_EVERY_MS, () => this.#send());
    if (!this.#isOwnerUp || this.#nowMs < this.#behindUntilMs) return;
    this.#fold();
    const { random, changesLost, changesMaxMs } = this.#options;
    const open = must(this.run.state.openDevices, 'no list');
    const report = takeOpenChanges(this.run.state, open, this.#nowMs);
    this.#number += 1;
    this.#markMs = this.#nowMs;
    const bytes = encodeOpenSessionsChanges({
      ...report,
      incarnation: this.#incarnation,
      number: this.#number,
      markMs: this.#markMs,
    });
    for (const collector of this.#collectors) {
      if (random.chance(changesLost)) continue;
      const { replica } = collector;
      collector.heardMs = Math.max(collector.heardMs, this.#nowMs + random.integer(1, changesMaxMs));
      this.#plan(collector.heardMs - this.#nowMs, () => {
        if (replica !== collector.replica) return;
        if (!replica.take(decodeOpenSessionsChanges(bytes))) this.#load(collector);
      });
    }
  }

  #load(collector: Collector): void {
    if (collector.loading) return;
    collector.loading = true;
    this.#askPiece(collector, EMPTY_PROMISE_ROUNDS);
  }

  #askPiece(collector: Collector, rounds: number): void {
    const { random, askMaxMs } = this.#options;
    const { replica } = collector;
    const bytes = encodeOpenSessionsQuestion(replica.question());
    this.#plan(random.integer(1, askMaxMs), () => {
      const piece = this.#isOwnerUp ? this.#piece(bytes) : undefined;
      this.#plan(random.integer(1, askMaxMs), () => {
        if (replica !== collector.replica) return;
        const read = piece === undefined ? undefined : decodeOpenSessionsPiece(piece);
        const continues = read !== undefined && replica.takePiece(read);
        const isOver = read === undefined || (continues && read.piece + 1 === read.pieces);
        if (isOver || rounds === 0) collector.loading = false;
        else this.#askPiece(collector, continues ? rounds : rounds - 1);
      });
    });
  }

  #piece(request: Uint8Array): Uint8Array {
    const question = decodeOpenSessionsQuestion(request);
    const open = must(this.run.state.openDevices, 'no list');
    if (question.piece === 0 || this.#snapshot === undefined)
      this.#snapshot = { number: this.#number, markMs: this.#markMs, ...openSnapshot(open) };
    const { number, markMs, entries } = this.#snapshot;
    const pieces = Math.max(1, Math.ceil(entries.count / ENTRIES_PER_PIECE));
    const isThis = question.incarnation === this.#incarnation && question.number === number;
    const piece = isThis && question.piece < pieces ? question.piece : 0;
    return encodeOpenSessionsPiece({
      incarnation: this.#incarnation,
      number,
      markMs,
      complete: this.#markMs !== 0,
      piece,
      pieces,
      entries: entries.slice(piece * ENTRIES_PER_PIECE, (piece + 1) * ENTRIES_PER_PIECE),
    });
  }

  /** Usually some milliseconds, sometimes the maximum. */
  #publishMs(): number {
    const { random, publishMaxMs } = this.#options;
    return random.integer(1, random.chance(0.8) ? Math.min(50, publishMaxMs) : publishMaxMs);
  }

  #plan(afterMs: number, act: () => void): void {
    this.#order += 1;
    const plan = { atMs: this.#nowMs + afterMs, order: this.#order, act };
    let index = this.#plans.length;
    while (index > 0 && (this.#plans[index - 1]?.atMs ?? 0) > plan.atMs) index -= 1;
    this.#plans.splice(index, 0, plan);
  }
}
