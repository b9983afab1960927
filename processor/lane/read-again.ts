import type { Bus } from '../../infra/bus/bus.ts';
import { StreamGapError } from '../../infra/bus/bus-error.ts';
import type { PublisherNumbers } from '../consumer/publisher-numbers.ts';
import { readPlaces } from '../consumer/read-places.ts';
import { TRIM_WITHIN_MS } from '../consumer/stream-consumer.ts';
import type { Ownership } from './ownership.ts';

/** The most messages that a stream loses when it is set back; one that lacks more is another one. */
const LOST_MAX = 1_000;
const TRIES_MAX = 10;

export interface ReadAgainOptions {
  readonly bus: Pick<Bus, 'streamBounds' | 'reader' | 'trim'>;
  readonly stream: string;
  readonly ownership: Pick<Ownership, 'checkpoint' | 'complete'>;
  /** Of what is in the store. */
  readonly numbers: Pick<PublisherNumbers, 'hasTaken'>;
}

/** Where a lane begins, and up to where its stream is trimmed. */
interface Beginning {
  readonly sequence: number;
  readonly trimmed: number;
}

/**
 * Where a lane begins to read. What its stream still has before the checkpoint is in the store, since a crash came between
 * checkpoint and trim, and is trimmed now; unless it came after the stream was set back, and nothing has read it. Then the checkpoint
 * goes back, before anything is read, because a flush that is repeated begins behind it.
 * @throws {StreamGapError} when the stream is another one than that of the checkpoint
 */
export async function readAgain({ bus, stream, ownership, numbers }: ReadAgainOptions): Promise<Beginning> {
  const { checkpoint } = ownership;
  const reached = checkpoint.sequence;
  for (let tries = 0; ; tries += 1) {
    const askedMs = performance.now();
    const { first, last } = await bus.streamBounds(stream);
    if (last < reached - LOST_MAX) throw new StreamGapError(stream, reached + 1, last);
    if (first > reached) return { sequence: reached, trimmed: reached };
    const from = Math.max(first, reached - LOST_MAX + 1);
    const places = { stream, from, to: Math.min(last, reached), parts: 'whole' } as const;
    const read = await readPlaces(bus, places, ({ bytes }) => numbers.hasTaken(bytes));
    const isLate = performance.now() - askedMs > TRIM_WITHIN_MS;
    if ((read === 'changed' || (read === 'all' && isLate)) && tries < TRIES_MAX) continue;
    if (read === 'all' && last >= reached && !isLate) {
      await bus.trim(stream, reached);
      return { sequence: reached, trimmed: reached };
    }
    const sequence = from - 1;
    await ownership.complete({ ...checkpoint, sequence });
    return { sequence, trimmed: first - 1 };
  }
}
