import type { Bus } from '../../infra/bus/bus.ts';
import type { Clock } from '../../infra/clock.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import type { LaneName } from '../../infra/process/service-lanes.ts';
import {
  decodeOpenSessionsQuestion,
  encodeOpenSessionsChanges,
  encodeOpenSessionsPiece,
  entriesPerMessage,
  OpenSessionsEntries,
  type OpenSessionsQuestion,
  openSessionChangesSubjectOf,
} from '../../ingest/open-sessions.ts';

/** Two sends begin at least this far apart. */
const SEND_EVERY_MS = 500;
/** Marks are sent until this long after the last event or question; then collectors ask again. */
const LINGER_MS = 5_000;
/** An owner that is further behind sends no mark, and the collectors ask it. */
const CATCH_UP_MAX_MS = 5_000;
/** A whole list is there for the collectors that load it for this long. */
const SNAPSHOT_AGE_MAX_MS = 10_000;
/** Whole lists at a time, while several collectors load; one that finds its list gone begins again. */
const SNAPSHOTS_MAX = 3;

/** Largest message: a collector takes each without a pause that its visitors feel. */
const MESSAGE_BYTES_MAX = 262_144;

/** A thread's report of its open sessions; the entries as bytes, because they come from another thread. */
export interface OpenReport {
  readonly entries: Uint8Array;
  readonly complete: boolean;
}

export interface OpenSessionsFeedOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly lane: number;
  /** The lane's name on the bus. */
  readonly name: LaneName;
  /** Changes since the last call. */
  readonly changes: (nowMs: number) => Promise<OpenReport>;
  /** Everything, as of the last changes. */
  readonly snapshot: () => Promise<OpenReport>;
  /** Resolves when everything that the bus has now is folded; false when that takes too long. */
  readonly catchUp: (maxMs: number) => Promise<boolean>;
}

/** The whole list after the changes of that number. */
interface Snapshot {
  readonly number: number;
  readonly markMs: number;
  readonly complete: boolean;
  readonly entries: OpenSessionsEntries;
}

/**
 * Sends collectors the devices that have an open session (`ingest/open-sessions.ts`), twice a second while something happens, and not at
 * all otherwise: without events and questions it sleeps, and no timer runs.
 *
 *     mark := now ─▶ everything that the bus has now is folded ─▶ changes of the thread ─▶ sent with the mark
 */
export class OpenSessionsFeed {
  readonly #options: OpenSessionsFeedOptions;
  readonly #incarnation: number;
  readonly #rest = new Notify();
  #number = 0;
  #markMs = 0;
  #complete = false;
  #lastActiveMs = 0;
  #sending: Promise<void> | undefined;
  #snapshots: readonly Snapshot[] = [];
  #taking: Promise<Snapshot> | undefined;
  /** Changes and snapshots are taken and numbered one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: OpenSessionsFeedOptions) {
    this.#options = options;
    this.#incarnation = 1 + Math.floor(options.random() * (Number.MAX_SAFE_INTEGER - 1));
  }

  /** Says that an event was folded or a question came. */
  wake(): void {
    if (this.#stopped) return;
    this.#lastActiveMs = performance.now();
    this.#sending ??= this.#sendWhileActive().finally(() => {
      this.#sending = undefined;
    });
  }

  /**
   * Answers a collector's question for a piece of the list.
   * @throws {DecodeError}
   */
  async answer(request: Uint8Array): Promise<Uint8Array | undefined> {
    const question = decodeOpenSessionsQuestion(request);
    if (this.#stopped) return undefined;
    this.wake();
    const snapshot = await this.#snapshotFor(question);
    const perPiece = this.#perMessage();
    const pieces = Math.max(1, Math.ceil(snapshot.entries.count / perPiece));
    const isThis = question.incarnation === this.#incarnation && question.number === snapshot.number;
    // A collector that began with another list begins again.
    const piece = isThis && question.piece < pieces ? question.piece : 0;
    const { number, markMs, complete } = snapshot;
    return encodeOpenSessionsPiece({
      incarnation: this.#incarnation,
      number,
      markMs,
      complete,
      piece,
      pieces,
      entries: snapshot.entries.slice(piece * perPiece, (piece + 1) * perPiece),
    });
  }

  /** Sends no more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#rest.end();
    this.#snapshots = [];
    await this.#sending;
  }

  async #sendWhileActive(): Promise<void> {
    const { log, lane } = this.#options;
    while (!this.#stopped && performance.now() - this.#lastActiveMs < LINGER_MS) {
      try {
        await this.#send();
      } catch (error) {
        // The next send carries what this one could not: without it, collectors see a gap and load the list.
        if (!this.#stopped) log.info({ lane, reason: reasonOf(error) }, 'open sessions could not be sent');
      }
      await this.#rest.sleep(SEND_EVERY_MS);
    }
  }

  async #send(): Promise<void> {
    const { clock, catchUp } = this.#options;
    const markMs = clock.nowMs();
    if (!(await catchUp(CATCH_UP_MAX_MS)) || this.#stopped) return;
    await this.#inTurn(async () => {
      const { bus, changes, name } = this.#options;
      const report = await changes(clock.nowMs());
      const entries = new OpenSessionsEntries(report.entries);
      const subject = openSessionChangesSubjectOf(name);
      const perMessage = this.#perMessage();
      for (let from = 0; from === 0 || from < entries.count; from += perMessage) {
        const isLast = from + perMessage >= entries.count;
        // Only the last message makes the mark true.
        if (isLast) this.#markMs = markMs;
        if (isLast) this.#complete = report.complete;
        this.#number += 1;
        const message = encodeOpenSessionsChanges({
          incarnation: this.#incarnation,
          number: this.#number,
          markMs: this.#markMs,
          complete: this.#complete,
          entries: entries.slice(from, from + perMessage),
        });
        bus.broadcast(subject, message);
      }
    });
  }

  /**
   * The list that a collector has begun to load; for one that begins, a list with every change sent before it asked, since it may have
   * heard none of them.
   */
  #snapshotFor({ incarnation, number }: OpenSessionsQuestion): Snapshot | Promise<Snapshot> {
    const isBegun = (snapshot: Snapshot) => incarnation === this.#incarnation && snapshot.number === number;
    const taken = this.#snapshots.find(isBegun) ?? this.#snapshots.find((one) => one.number === this.#number);
    if (taken !== undefined) return taken;
    this.#taking ??= this.#takeSnapshot().finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  #takeSnapshot(): Promise<Snapshot> {
    return this.#inTurn(async () => {
      const { entries, complete } = await this.#options.snapshot();
      const snapshot = {
        number: this.#number,
        markMs: this.#markMs,
        complete: complete && this.#complete,
        entries: new OpenSessionsEntries(entries),
      };
      this.#snapshots = [...this.#snapshots, snapshot].slice(-SNAPSHOTS_MAX);
      setTimeout(() => {
        this.#snapshots = this.#snapshots.filter((one) => one !== snapshot);
      }, SNAPSHOT_AGE_MAX_MS).unref();
      return snapshot;
    });
  }

  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  #perMessage(): number {
    return entriesPerMessage(Math.min(MESSAGE_BYTES_MAX, this.#options.bus.messageMaxBytes / 2));
  }
}
