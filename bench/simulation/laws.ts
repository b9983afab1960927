import { decodeLaneRecord, type LaneRecord, laneKeyOf } from '../../processor/lane/lane-record.ts';
import { currentSessions } from '../../processor/testing/stored-state.ts';
import type { LaneArrivals } from './arrivals.ts';
import { difference, eventFact, factsOf, sessionFact, sessionKey } from './facts.ts';
import type { WrittenRecord } from './simulated-bus.ts';
import type { AskedInsert, SimulatedStore } from './simulated-store.ts';
import type { Actor } from './virtual-time.ts';

/** A law of the system is broken. */
export class BrokenLaw extends Error {
  override readonly name = 'BrokenLaw';
}

/** Errors of an owner that only a lost flush or a lost message can cause. */
const FATAL =
  /^(StreamGapError|RangeError|TypeError)|the store has|are not visible|different places|a repeated flush|would lose|still be|not open/;

/** Watches the writes to bus and store while a schedule runs, and closes the books at its end. */
export class Laws {
  readonly #fail: (error: BrokenLaw) => void;
  readonly #digests = new Map<string, string>();
  readonly #records = new Map<string, LaneRecord>();
  readonly #declared = new Map<string, number>();
  /** Owners that know that they have lost a lane, by actor and lane. */
  readonly #fenced = new Map<Actor, Set<number>>();

  constructor(fail: (error: BrokenLaw) => void) {
    this.#fail = fail;
  }

  /** The record of a lane now. */
  recordOf(key: string): LaneRecord | undefined {
    return this.#records.get(key);
  }

  /** A record was written: a checkpoint never goes back, and a flush number is declared for only one end. */
  onWrite({ key, bytes }: WrittenRecord): void {
    const record = decodeLaneRecord(bytes);
    const before = this.#records.get(key)?.checkpoint ?? { flushNumber: 0, sequence: 0 };
    const { checkpoint, intent } = record;
    if (checkpoint.flushNumber < before.flushNumber || checkpoint.sequence < before.sequence)
      this.#break(
        `the checkpoint of ${key} goes back from flush ${before.flushNumber} to ${checkpoint.flushNumber}`,
      );
    if (intent !== null) {
      const flush = `${key} ${intent.flushNumber}`;
      const known = this.#declared.get(flush);
      if (known !== undefined && known !== intent.sequence)
        this.#break(`flush ${intent.flushNumber} of ${key} ends at ${known} and at ${intent.sequence}`);
      this.#declared.set(flush, intent.sequence);
    }
    this.#records.set(key, record);
  }

  /** An insert is asked for: the rows of a flush are always the same, and no fenced owner asks. */
  onInsert({ table, actor, rows, digest }: AskedInsert): void {
    const first = rows.find(({ values }) => values.sign !== -1)?.values;
    if (first === undefined) return;
    const flush = `${table} of lane ${first.partition}, flush ${first.flushNumber}`;
    const known = this.#digests.get(flush);
    if (known !== undefined && known !== digest)
      this.#break(`${flush}: a second content under the same number`);
    this.#digests.set(flush, digest);
    this.onFencedDeed(actor, Number(first.partition), `inserts into ${table}`);
  }

  /** An owner learns that it lost a lane: another one has it. */
  onFenced(actor: Actor, lane: number): void {
    if (this.#records.get(laneKeyOf(lane))?.owner === actor.name)
      this.#break(`${actor.name} takes lane ${lane} for lost, and owns it`);
    const lanes = this.#fenced.get(actor) ?? new Set();
    lanes.add(lane);
    this.#fenced.set(actor, lanes);
  }

  onTaken(actor: Actor, lane: number): void {
    this.#fenced.get(actor)?.delete(lane);
  }

  /** Something is written for a lane: not by an owner that knows that it lost it. */
  onFencedDeed(actor: Actor | undefined, lane: number, what: string): void {
    if (actor !== undefined && this.#fenced.get(actor)?.has(lane) === true)
      this.#break(`${actor.name} knows that it lost lane ${lane}, and ${what}`);
  }

  /** A message leaves the bus: its events are in the store. */
  onTrim(lane: number, upTo: number, arrivals: LaneArrivals, store: SimulatedStore): void {
    const stored = new Set(store.rows('events').map(({ values }) => values.path));
    for (let sequence = upTo; sequence > Math.max(0, upTo - 20); sequence -= 1) {
      const lost = arrivals.eventsOf(sequence).find((event) => !stored.has(event.path));
      if (lost !== undefined)
        this.#break(`message ${sequence} of lane ${lane} is trimmed, and ${lost.path} is not in the store`);
    }
  }

  /** A lane failed. */
  onFailure(actor: string, reason: string): void {
    if (FATAL.test(reason)) this.#break(`${actor}: ${reason}`);
  }

  /** A question was answered from history and hot rows, and the answer differs from the meaning of the stream. */
  onWrongAnswer(what: string): void {
    this.#break(`a question about ${what}`);
  }

  /** At the end: the store has the meaning of the stream, each event and each session once. */
  atEnd(lane: number, arrivals: LaneArrivals, store: SimulatedStore): void {
    const expected = factsOf(arrivals.upTo(arrivals.last));
    const ofLane = (table: 'events' | 'sessions') =>
      store.rows(table).filter(({ values }) => values.partition === lane);
    const events = ofLane('events')
      .map(({ values }) => eventFact(values))
      .sort();
    const wrong = difference(events, expected.events);
    if (wrong !== '') this.#break(`at the end, events of lane ${lane}: ${wrong}`);
    const sessions = currentSessions(ofLane('sessions')).map(
      (row) => `${sessionKey(row)} ${sessionFact(row)}`,
    );
    const wanted = [...expected.sessions].map(([key, fact]) => `${key} ${fact}`);
    const wrongSessions = difference(sessions.sort(), wanted.sort());
    if (wrongSessions !== '') this.#break(`at the end, sessions of lane ${lane}: ${wrongSessions}`);
  }

  /** At the end: a feed has each stored event once and in order. */
  onWrongFeed(what: string): void {
    this.#break(`at the end, the feed of ${what}`);
  }

  #break(what: string): void {
    this.#fail(new BrokenLaw(what));
  }
}
