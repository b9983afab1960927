import { HOUR_MS } from '../../infra/durations.ts';
import {
  type ReferenceEvent,
  type ReferenceResult,
  reference,
  type Tick,
} from '../../processor/testing/reference.ts';

/** Longer than the gap of sessions, as in production. */
export const RETAIN_MS = HOUR_MS;

/** The meaning of a message, and its sender. */
export interface Meaning {
  readonly publisher: string;
  readonly number: number;
  readonly arrivals: readonly (ReferenceEvent | Tick)[];
}

/** The meaning of one lane's stream up to each of its messages, by the reference (`processor/testing/reference.ts`). */
export class LaneArrivals {
  readonly #messages: Meaning[] = [];
  readonly #known = new Map<string, number>();
  readonly #upTo = new Map<number, ReferenceResult>();
  /** Messages up to here were acknowledged to their senders. */
  acknowledged = 0;

  /** The last message. */
  get last(): number {
    return this.#messages.length;
  }

  /** Takes the next message of the stream; a repeated one has no meaning. */
  take(message: Meaning): void {
    const { publisher, number } = message;
    const isRepeat = (this.#known.get(publisher) ?? 0) >= number;
    this.#known.set(publisher, Math.max(number, this.#known.get(publisher) ?? 0));
    this.#messages.push(isRepeat ? { ...message, arrivals: [] } : message);
  }

  /** The meaning of everything up to a message. */
  upTo(sequence: number): ReferenceResult {
    let result = this.#upTo.get(sequence);
    if (result === undefined) {
      const arrivals = this.#messages.slice(0, sequence).flatMap((message) => message.arrivals);
      result = reference(arrivals, { retainMs: RETAIN_MS });
      this.#upTo.set(sequence, result);
    }
    return result;
  }

  /** The events of one message. */
  eventsOf(sequence: number): readonly ReferenceEvent[] {
    const { arrivals = [] } = this.#messages[sequence - 1] ?? {};
    return arrivals.filter((arrival): arrival is ReferenceEvent => !('tickAtMs' in arrival));
  }
}
