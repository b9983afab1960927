import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { StreamMessage } from '../../infra/bus/stream-reader.ts';
import { publisherKeyOf } from '../../infra/process/lane-ends.ts';
import { decodeMessageHead, type MessageHead } from '../../ingest/event.ts';

/**
 * The last number of each publisher in a stream. A publisher numbers its messages one by one, so one whose number is not the next says that
 * another is missing in front of it: its publisher gave it up, or it stands in a place that was passed before. The latter must be
 * found before the later number is taken, since an earlier one counts as a repeat from then on.
 */
export class PublisherNumbers {
  readonly #max: number;
  /** Publishers whose numbers rise by more than one. */
  readonly #isSparse: (publisherId: bigint) => boolean;
  readonly #last = new Map<string, number>();

  /** `max`: as many publishers are known to who drops repeats; the one that was silent longest is evicted. */
  constructor(max: number, isSparse: (publisherId: bigint) => boolean = () => false) {
    this.#max = max;
    this.#isSparse = isSparse;
  }

  /** Replaces what is known. The publisher that was silent longest comes first. */
  restore(publishers: readonly (readonly [publisher: string, sequence: number, ...rest: number[]])[]): void {
    this.#last.clear();
    for (const [publisher, sequence] of publishers) this.#last.set(publisher, sequence);
  }

  /**
   * Notes messages that are taken, up to the first in front of which one of its publisher may be missing; returns how many. Of a
   * publisher that leaves numbers out, one may be missing in front of each.
   */
  noteNext(messages: readonly Pick<StreamMessage, 'bytes'>[]): number {
    let count = 0;
    for (const message of messages) {
      if (!this.#note(message.bytes, 'next')) break;
      count += 1;
    }
    return count;
  }

  /** Notes a message that is taken, whatever is missing in front of it. */
  note({ bytes }: Pick<StreamMessage, 'bytes'>): void {
    this.#note(bytes, 'any');
  }

  /** Whether the message was taken, or cannot be read. */
  hasTaken(bytes: Uint8Array): boolean {
    const head = headOf(bytes);
    if (head === undefined) return true;
    return head.publisherSequence <= (this.#last.get(publisherKeyOf(head.publisherId)) ?? 0);
  }

  #note(bytes: Uint8Array, wanted: 'next' | 'any'): boolean {
    const head = headOf(bytes);
    if (head === undefined) return true;
    const publisher = publisherKeyOf(head.publisherId);
    const last = this.#last.get(publisher) ?? 0;
    if (head.publisherSequence <= last) return true;
    const isNext = head.publisherSequence === last + 1 && !this.#isSparse(head.publisherId);
    if (wanted === 'next' && !isNext) return false;
    this.#last.delete(publisher);
    this.#last.set(publisher, head.publisherSequence);
    if (this.#last.size > this.#max) this.#evictOldest();
    return true;
  }

  #evictOldest(): void {
    for (const oldest of this.#last.keys()) {
      this.#last.delete(oldest);
      break;
    }
  }
}

/** Undefined for a message that cannot be read: it goes to the dead letters. */
function headOf(bytes: Uint8Array): MessageHead | undefined {
  try {
    return decodeMessageHead(bytes);
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}
