import {
  type ReferenceEvent,
  type ReferenceResult,
  reference,
  type Tick,
} from '../../processor/testing/reference.ts';

/** Longer than the gap of sessions, as in production. */
export const RETAIN_MS = 3_600_000;

/** What a message means, and who sent it. */
export interface Meaning {
  readonly publisher: string;
  readonly number: number;
  readonly arrivals: readonly (ReferenceEvent | Tick)[];
}

/** What the stream of one lane means up to each of its messages, by the reference (`processor/testing/reference.ts`). */
export class LaneArrivals {
  /** Everything that was ever stored, in its order. */
  readonly #messages: Meaning[] = [];
  /** How many messages were stored up to each place of the stream, itself included. */
  readonly #storedUpTo: number[] = [];
  readonly #known = new Map<string, number>();
  readonly #upTo = new Map<number, ReferenceResult>();
  /** Messages up to here were acknowledged to who sent them. */
  acknowledged = 0;
  /**
   * The stream was set back at some time. An owner may take messages in another order than that in which they were stored since: those that
   * stood in places it had passed come behind others. So it is known of each event that it is stored, and not in which session.
   */
  isSetBack = false;

  /** The last message. */
  get last(): number {
    return this.#storedUpTo.length;
  }

  /** Takes the next message of the stream; one that was sent before means nothing. */
  take(message: Meaning): void {
    const { publisher, number } = message;
    const isRepeat = (this.#known.get(publisher) ?? 0) >= number;
    this.#known.set(publisher, Math.max(number, this.#known.get(publisher) ?? 0));
    this.#messages.push(isRepeat ? { ...message, arrivals: [] } : message);
    this.#storedUpTo.push(this.#messages.length);
  }

  /** The stream loses its newest messages. Owners have stored all of them. */
  setBack(count: number): void {
    this.isSetBack = true;
    this.#storedUpTo.length -= count;
    this.acknowledged = Math.min(this.acknowledged, this.last);
  }

  /** What everything up to a message means. */
  upTo(sequence: number): ReferenceResult {
    const count = this.#storedUpTo[sequence - 1] ?? 0;
    let result = this.#upTo.get(count);
    if (result === undefined) {
      const arrivals = this.#messages.slice(0, count).flatMap((message) => message.arrivals);
      result = reference(arrivals, { retainMs: RETAIN_MS });
      this.#upTo.set(count, result);
    }
    return result;
  }

  /** Everything that was ever stored. */
  all(): ReferenceResult {
    return reference(
      this.#messages.flatMap((message) => message.arrivals),
      { retainMs: RETAIN_MS },
    );
  }

  /** The events of one message. */
  eventsOf(sequence: number): readonly ReferenceEvent[] {
    const { arrivals = [] } = this.#messages[(this.#storedUpTo[sequence - 1] ?? 0) - 1] ?? {};
    return arrivals.filter((arrival): arrival is ReferenceEvent => !('tickAtMs' in arrival));
  }
}
