import type { Bus } from '../../infra/bus/bus.ts';
import type { StreamBounds, StreamMessage } from '../../infra/bus/stream-reader.ts';
import { pause } from '../../infra/concurrency/pause.ts';
import { type PlacesRead, readPlaces } from './read-places.ts';

/**
 * A server that has led the stream at two looks has led it in between, if they are no further apart than this: an election takes four seconds,
 * and a server hands its lead over for a reason.
 */
const LED_MAX_MS = 3_000;
/** A new leader may say for a moment less than it has. */
const LOOKS_MAX = 10;
const LOOK_EVERY_MS = 200;
/** The reader's time comes with the message as a number of nanoseconds, which has lost its last digits. */
const SAME_MS = 0.1;

interface Position {
  readonly read: number;
  readonly trimmed: number;
}

export interface ContinuityOptions {
  readonly bus: Pick<Bus, 'streamBounds' | 'reader' | 'disconnections'>;
  readonly stream: string;
}

/**
 * Whether a stream still has what was read of it. A stream that was set back has lost its newest messages, though it had confirmed
 * them, and gives their sequences to others: who has read further never reads these.
 *
 *     read            … 99 100 a b c │           a, b, c in 101 to 103
 *     set back        … 99 100       │
 *     filled again    … 99 100 x y z │ w         x, y, z are never read; w, in 104, is
 *
 * What a stream has in one place follows from all that it had before, so it was not set back below a place in which it has the same
 * message. Therefore every place that was read is looked at once more, for the time at which its message was stored, unless one
 * server has led the stream from the last look to this one: no server loses by itself what it has confirmed.
 */
export class Continuity {
  readonly #options: ContinuityOptions;
  /** The times of the places from `#from` on; those before are known to be the same. */
  #times: number[] = [];
  #from = 1;
  /** The stream was trimmed up to here. What has this place is a stream of before the trim. */
  #trimmed = 0;
  #led = '';
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ContinuityOptions) {
    this.#options = options;
  }

  /** The last place that was read, and the last that was trimmed. */
  get position(): Position {
    return { read: this.#from + this.#times.length - 1, trimmed: this.#trimmed };
  }

  /** Everything up to `sequence` is done, and the stream has nothing up to `trimmed`. */
  begin(sequence: number, trimmed: number): void {
    this.#from = sequence + 1;
    this.#times = [];
    this.#trimmed = trimmed;
  }

  /** Notes the next message that was read. */
  note({ storedMs }: StreamMessage): void {
    this.#times.push(storedMs);
  }

  /** Notes that the stream was trimmed up to `sequence`. */
  trimmed(sequence: number): void {
    this.#trimmed = Math.max(this.#trimmed, sequence);
  }

  /** Whether a stream with these bounds may have been set back, of which this was read and trimmed before it was asked for them. */
  isDoubtedBy(bounds: StreamBounds, { read, trimmed }: Position): boolean {
    const { last, lastStoredMs } = bounds;
    if (endsBefore(bounds, { read, trimmed })) return true;
    const known = this.#times[read - this.#from];
    return last === read && known !== undefined && lastStoredMs !== undefined && !isSame(known, lastStoredMs);
  }

  /**
   * Whether the stream has, in every place that was read, the message that was read in it, or has trimmed it.
   * `thorough`: looks at the places whatever server leads the stream.
   * @throws {BusError} retryable, when the bus does not say so
   */
  async holds(thorough = false): Promise<boolean> {
    const { position } = this;
    const { read } = position;
    let isDoubtful = thorough;
    for (let looks = 1; ; looks += 1) {
      const askedMs = performance.now();
      const bounds = await this.#options.bus.streamBounds(this.#options.stream);
      isDoubtful ||= this.isDoubtedBy(bounds, position);
      if (endsBefore(bounds, position)) {
        if (looks === LOOKS_MAX) return false;
        await pause(LOOK_EVERY_MS);
        continue;
      }
      const led = `${bounds.createdMs} ${bounds.leader} ${this.#options.bus.disconnections}`;
      const isLed = led === this.#led && askedMs - this.#lookedMs < LED_MAX_MS;
      const found = isLed && !isDoubtful ? 'all' : await this.#look(bounds.first, read);
      if (found === 'changed' && looks < LOOKS_MAX) continue;
      if (found !== 'all') return false;
      this.#led = led;
      this.#lookedMs = askedMs;
      this.#forget(read);
      return true;
    }
  }

  /** Looks at the places again, as far as the stream was not trimmed. */
  #look(first: number, read: number): Promise<PlacesRead> {
    const { bus, stream } = this.#options;
    const places = { stream, from: Math.max(first, this.#from), to: read, parts: 'without-bytes' } as const;
    return readPlaces(bus, places, ({ sequence, storedMs }) => {
      const known = this.#times[sequence - this.#from];
      return known === undefined || isSame(known, storedMs);
    });
  }

  /** The places up to `read` are as they were read. The last of them is looked at again next time. */
  #forget(read: number): void {
    const count = Math.max(0, read - this.#from);
    this.#times = this.#times.slice(count);
    this.#from += count;
  }
}

/** A stream that was set back ends before what was read, or has again what was trimmed. */
function endsBefore({ first, last }: StreamBounds, { read, trimmed }: Position): boolean {
  return last < read || first <= trimmed;
}

function isSame(oneMs: number, otherMs: number): boolean {
  return Math.abs(oneMs - otherMs) < SAME_MS;
}
