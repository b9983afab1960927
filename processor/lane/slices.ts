import type { StoredId } from '../../infra/accounts/ids.ts';
import { must } from '../../infra/assert.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import {
  decodeSessionAnswers,
  decodeSessionQuestions,
  encodeSessionAnswers,
  encodeSessionQuestions,
  type SessionAnswer,
  sessionLookupVersionOf,
} from '../../ingest/session-lookup.ts';
import type { NamedSession } from '../fold/ended-sessions.ts';
import type { SiteHour } from '../fold/finalized.ts';
import type { LiveQuestion } from '../fold/hot-answers.ts';
import type { RestoredPart, StoredMinute, StoredSeen } from '../fold/restore.ts';
import type { RowsBySite } from '../fold/rows-by-site.ts';
import type { EndedQuestion } from '../fold/session-answers.ts';
import type { SetAside } from '../fold/set-aside.ts';
import { type Home, holdsNamed, type Slice } from '../fold/slice.ts';
import type { StateLimits } from '../fold/slice-state.ts';
import { HOT_VERSION, type HotQuestion, type LivePart } from '../hot.ts';
import type { Checkpoint, Division } from './lane-record.ts';
import { mergeHotAnswers, mergeVisitors } from './merge-hot.ts';
import type { OpenReport } from './open-sessions-feed.ts';
import type { SessionsRequest, WorkerHandle } from './worker-handle.ts';
import {
  type FoldReport,
  type MissingReport,
  type PackedMessages,
  placeOf,
  type SessionsReport,
  type SiteFailure,
} from './worker-tasks.ts';

/** The rows of one flush, of all slices. */
export interface CutBatch {
  readonly checkpoint: Checkpoint;
  /** False: nothing for the store, only the checkpoint moves on (and `checkpoint.flushNumber` does not). */
  readonly hasRows: boolean;
  /** One piece for each slice. */
  readonly events: readonly Uint8Array[];
  readonly sessions: readonly Uint8Array[];
  readonly eventRows: number;
  readonly sessionRows: number;
  /** Hours that it changes although they may be finalized. */
  readonly lateHours: readonly SiteHour[];
}

export interface SlicesOptions {
  readonly lane: number;
  /** Threads of this process. A slice stays on its thread; when there are more slices, threads have several. */
  readonly threads: readonly WorkerHandle[];
  readonly division: Division;
  /** See `Slice`. */
  readonly home?: Home | undefined;
}

/** A slice of this lane, and its key on its thread. */
interface PlacedSlice extends Slice {
  readonly place: number;
}

/** Data of one site cannot be folded or encoded. */
export class SiteFailedError extends Error {
  override readonly name = 'SiteFailedError';
  readonly failure: SiteFailure;

  constructor(failure: SiteFailure) {
    super(failure.reason);
    this.failure = failure;
  }
}

/** A message of a stream, as a fold needs it. */
export interface FoldedMessage {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

/**
 * The state of a lane, divided into the number of slices of its division. Each call gives all slices their tasks together, so they do the
 * same tasks in the same order: what one call finds, it finds at the same point of the stream and of the flushes in all of them.
 */
export class Slices {
  readonly #slices: readonly PlacedSlice[];
  readonly #lane: number;
  readonly #threads: readonly WorkerHandle[];

  constructor({ lane, threads, division, home }: SlicesOptions) {
    this.#lane = lane;
    this.#threads = threads;
    const { slices: count, partitions } = division;
    this.#slices = Array.from({ length: count }, (_, index) => ({
      ...{ index, count, partitions, home },
      place: placeOf(lane, index),
    }));
  }

  /** Opens all slices at a checkpoint, which share the caps of the lane's memory. */
  async open(task: {
    readonly checkpoint: Checkpoint;
    readonly setAside: readonly SetAside[];
    readonly limits: StateLimits;
    readonly messageMaxBytes: number;
  }): Promise<void> {
    const limits = shareOfLimits(task.limits, this.#slices.length);
    const lane = this.#lane;
    await this.#all((thread, slice) => thread.open({ ...task, lane, slice, limits }));
  }

  /** Passes stored rows to all slices; each takes the rows of its devices. The bytes, which have a buffer of their own, move. */
  async restore(part: RestoredPart, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const isLast = (index: number) => index === this.#slices.length - 1;
    await this.#all((thread, { index, place }) =>
      thread.restore(place, part, isLast(index) ? bytes : Uint8Array.from(bytes)),
    );
  }
  async restoreMinutes(minutes: readonly StoredMinute[]): Promise<void> {
    await this.#all((thread, { place }) => thread.restoreMinutes(place, minutes));
  }
  async restoreSeen(seen: readonly StoredSeen[]): Promise<void> {
    await this.#all((thread, { place }) => thread.restoreSeen(place, seen));
  }

  /** Returns the sessions that have to be loaded before the first of these messages can be folded. */
  async missing(messages: readonly FoldedMessage[]): Promise<MissingReport> {
    const packed = pack(messages, false);
    const reports = await this.#all((thread, { place }) => thread.missing(place, packed));
    return {
      missing: reports.flatMap((report) => report.missing),
      unflushed: reports.some((report) => report.unflushed),
    };
  }

  /** Passes the stored states of missing sessions. */
  async ended(named: readonly NamedSession[], rows: Uint8Array): Promise<void> {
    await this.#all((thread, { place }) => thread.ended(place, named, rows));
  }

  /**
   * Folds messages in their order, up to an erase command. All ended sessions that they name must be loaded; `keepsEnded` says whether
   * these stay in memory.
   */
  async fold(messages: readonly FoldedMessage[], keepsEnded: boolean): Promise<FoldReport> {
    const packed = pack(messages, this.#slices.length > 1);
    const reports = await this.#all((thread, { place }) => thread.fold(place, packed, keepsEnded));
    throwFirst(reports.map(({ failure }) => failure));
    const [first] = reports;
    const { messages: done, isErasing, rejected, clockMs } = must(first, 'a lane has a slice');
    if (reports.some((report) => report.messages !== done || report.clockMs !== clockMs))
      throw new Error('the slices of a lane are at different places');
    const sum = (of: (report: FoldReport) => number) =>
      reports.reduce((total, report) => total + of(report), 0);
    return {
      failure: undefined,
      messages: done,
      isErasing,
      rejected,
      clockMs,
      events: sum(({ events }) => events),
      repeats: sum(({ repeats }) => repeats),
      saturatedSums: sum(({ saturatedSums }) => saturatedSums),
      batchRows: sum(({ batchRows }) => batchRows),
      batchBytes: sum(({ batchBytes }) => batchBytes),
      sessions: sum(({ sessions }) => sessions),
    };
  }

  /**
   * Ends the open batch and begins the next; undefined when not even a message was folded since the last time. `hasRows`:
   * some slice has rows for the store.
   * @throws {SiteFailedError} and then only `close` may be called
   */
  async cut(hasRows: boolean): Promise<CutBatch | undefined> {
    const cuts = await this.#all((thread, { place }) => thread.cut(place, hasRows));
    throwFirst(cuts.map((report) => (report.kind === 'failed' ? report.failure : undefined)));
    const parts = cuts.flatMap((report) => (report.kind === 'rows' ? [report.cut] : []));
    const [first] = parts;
    if (first === undefined) return undefined;
    return {
      checkpoint: first.checkpoint,
      hasRows,
      events: parts.map(({ events }) => events),
      sessions: parts.map(({ sessions }) => sessions),
      eventRows: parts.reduce((sum, { eventRows }) => sum + eventRows, 0),
      sessionRows: parts.reduce((sum, { sessionRows }) => sum + sessionRows, 0),
      lateHours: withoutRepeats(parts.flatMap(({ lateHours }) => lateHours)),
    };
  }

  /** Notes that the flush which was cut last is in the store. */
  async flushed(): Promise<void> {
    await this.#all((thread, { place }) => thread.flushed(place));
  }

  /** The rows of the flush that was cut last by site, without its marker. */
  async rowsBySite(): Promise<{ readonly events: SitePieces; readonly sessions: SitePieces }> {
    const reports = await this.#all((thread, { place }) => thread.rowsBySite(place));
    return {
      events: piecesBySite(reports.map(({ events }) => events)),
      sessions: piecesBySite(reports.map(({ sessions }) => sessions)),
    };
  }

  /** Answers a question from memory. `messageMaxBytes` bounds the answer. */
  async hot(question: HotQuestion, messageMaxBytes: number): Promise<Uint8Array> {
    const [only, ...others] = this.#slices;
    if (only !== undefined && others.length === 0) return this.#threadOf(only).hot(only.place, question);
    const merged = async (asked: HotQuestion) => {
      const answers = await this.#all((thread, { place }) =>
        thread.hot(place, { ...asked, reads: HOT_VERSION }),
      );
      return mergeHotAnswers(answers, { version: question.reads ?? HOT_VERSION, messageMaxBytes });
    };
    const { projectId } = question;
    const answer = (await merged(question)) ?? (await merged({ kind: 'rows', projectId }));
    return must(answer, 'the slices of a lane are at the same flush');
  }

  /** The live visitors of these sites in their order; undefined for one with more profiles on a slice. */
  async live(question: LiveQuestion): Promise<readonly (LivePart | undefined)[]> {
    const counted = await this.#all((thread, { place }) => thread.live(place, question));
    return question.projectIds.map((_, place) => {
      const parts = counted.map((ofSlice) => ofSlice[place]);
      return parts.every((part) => part !== undefined) ? mergeVisitors(parts) : undefined;
    });
  }

  /** Returns the sessions that events will have, or the work to be done first; see `SessionsTask`. */
  async sessions(request: SessionsRequest): Promise<SessionsReport> {
    const [only, ...others] = this.#slices;
    if (only !== undefined && others.length === 0) return this.#threadOf(only).sessions(only.place, request);
    let questions: ReturnType<typeof decodeSessionQuestions>;
    try {
      questions = decodeSessionQuestions(request.questions);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      return { kind: 'unreadable', message: error.message, reason: error.reason };
    }
    const version = sessionLookupVersionOf(request.questions);
    const places = this.#slices.map((slice) =>
      questions.flatMap((question, place) => (holdsNamed(slice, question) ? [place] : [])),
    );
    const reports = await this.#all((thread, { index, place: slicePlace }) => {
      const mine = places[index] ?? [];
      const asked = mine.map((place) => must(questions[place], 'a place has a question'));
      return thread.sessions(slicePlace, {
        ...request,
        questions: encodeSessionQuestions(asked),
        ended: request.ended === undefined ? undefined : placedWithin(mine, request.ended),
      });
    });
    return mergeSessionReports(reports, places, { count: questions.length, version });
  }

  /** Changes in the open sessions since the last call; without a time, all of them. */
  async openSessions(nowMs: number | undefined): Promise<OpenReport> {
    const reports = await this.#all((thread, { place }) => thread.openSessions(place, nowMs));
    const [first] = reports;
    if (first !== undefined && reports.length === 1) return first;
    return {
      entries: Buffer.concat(reports.map(({ entries }) => entries)),
      complete: reports.every(({ complete }) => complete),
    };
  }

  async close(): Promise<void> {
    await this.#all((thread, { place }) => thread.close(place));
  }

  /** Gives every slice its task in one turn of the event loop; a thread does tasks in the order in which they come. */
  #all<Result>(task: (thread: WorkerHandle, slice: PlacedSlice) => Promise<Result>): Promise<Result[]> {
    return Promise.all(this.#slices.map((slice) => task(this.#threadOf(slice), slice)));
  }

  #threadOf({ index }: PlacedSlice): WorkerHandle {
    return must(this.#threads[index % this.#threads.length], 'a processor has a thread');
  }
}

/** Rows by site, in one piece for each slice that has some. */
export type SitePieces = ReadonlyMap<StoredId, readonly Uint8Array[]>;

function piecesBySite(ofSlices: readonly RowsBySite[]): SitePieces {
  const pieces = new Map<StoredId, Uint8Array[]>();
  for (const { bytes, sites } of ofSlices) {
    for (const { projectId, start, end } of sites) {
      if (projectId === '') continue;
      const piece = new Uint8Array(bytes, start, end - start);
      const known = pieces.get(projectId);
      if (known === undefined) pieces.set(projectId, [piece]);
      else known.push(piece);
    }
  }
  return pieces;
}

/** Throws the failure of the first slice that has one: the others fail again once it is fixed. */
function throwFirst(failures: readonly (SiteFailure | undefined)[]): void {
  const failure = failures.find((found) => found !== undefined);
  if (failure !== undefined) throw new SiteFailedError(failure);
}

/** The messages in one piece: in memory of its own, which can move to a thread, or shared by several threads. */
function pack(messages: readonly FoldedMessage[], isShared: boolean): PackedMessages {
  let length = 0;
  for (const { bytes } of messages) length += bytes.length;
  const bytes = isShared ? new Uint8Array(new SharedArrayBuffer(length)) : new Uint8Array(length);
  let offset = 0;
  for (const message of messages) {
    bytes.set(message.bytes, offset);
    offset += message.bytes.length;
  }
  return { bytes, messages: messages.map((message) => [message.sequence, message.bytes.length] as const) };
}

/**
 * Limits for one slice of a lane, or for one lane of a process: a proportional share, but the full limits for publishers and sites, since
 * each part may see all.
 */
export function shareOfLimits(limits: StateLimits, parts: number): StateLimits {
  const share = (limit: number) => Math.ceil(limit / parts);
  return {
    ...limits,
    sessionsMax: share(limits.sessionsMax),
    eventIdsMax: share(limits.eventIdsMax),
    minuteVisitorsMax: share(limits.minuteVisitorsMax),
    grantsMax: share(limits.grantsMax),
  };
}

function withoutRepeats(hours: readonly SiteHour[]): SiteHour[] {
  return [...new Map(hours.map((hour) => [`${hour.hourMs} ${hour.projectId}`, hour])).values()];
}

/** Values by the places of all questions, as values by the places of some of them. */
function placedWithin<Value>(
  places: readonly number[],
  values: ReadonlyMap<number, Value>,
): Map<number, Value> {
  const placed = new Map<number, Value>();
  for (const [within, place] of places.entries()) {
    const value = values.get(place);
    if (value !== undefined) placed.set(within, value);
  }
  return placed;
}

function mergeSessionReports(
  reports: readonly SessionsReport[],
  places: readonly (readonly number[])[],
  { count, version }: { readonly count: number; readonly version: number },
): SessionsReport {
  const unreadable = reports.find(({ kind }) => kind === 'unreadable');
  if (unreadable !== undefined) return unreadable;
  if (reports.some(({ kind }) => kind === 'behind')) return { kind: 'behind' };
  const ended: EndedQuestion[] = [];
  const answers: SessionAnswer[] = [];
  let unflushed = false;
  for (const [index, report] of reports.entries()) {
    const placeOf = (within: number) => must(places[index]?.[within], 'an answer has a question');
    if (report.kind === 'ended') {
      unflushed ||= report.unflushed;
      for (const question of report.questions) ended.push({ ...question, place: placeOf(question.place) });
    }
    if (report.kind !== 'answers') continue;
    for (const [within, answer] of (decodeSessionAnswers(report.answers) ?? []).entries())
      answers[placeOf(within)] = answer;
  }
  if (ended.length > 0) return { kind: 'ended', questions: ended, unflushed };
  const answered = Array.from({ length: count }, (_, place) =>
    must(answers[place], 'a question has an answer'),
  );
  return { kind: 'answers', answers: encodeSessionAnswers(answered, version) };
}
