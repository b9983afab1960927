import type { Bus } from '../../infra/bus/bus.ts';
import { StreamGapError } from '../../infra/bus/bus-error.ts';
import type { Ownership } from './ownership.ts';

/** The most messages that a stream loses when it is set back; one that lacks more is another one. */
const LOST_MAX = 1_000;

export interface ReadAgainOptions {
  readonly bus: Pick<Bus, 'streamBounds'>;
  readonly stream: string;
  readonly ownership: Pick<Ownership, 'checkpoint' | 'complete'>;
}

/**
 * Where a lane begins to read: behind what was trimmed, though its checkpoint be further. What the stream still has before the checkpoint was
 * either folded, and its publishers' numbers say so, or it came after the stream was set back and nothing has read it. The checkpoint goes back
 * before anything is read, because a flush that is repeated begins behind it.
 * @throws {StreamGapError} when the stream is another one than that of the checkpoint
 */
export async function readAgain({
  bus,
  stream,
  ownership,
}: ReadAgainOptions): Promise<{ readonly sequence: number; readonly trimmed: number }> {
  const { checkpoint } = ownership;
  const { first, last } = await bus.streamBounds(stream);
  const reached = checkpoint.sequence;
  if (last < reached - LOST_MAX) throw new StreamGapError(stream, reached + 1, last);
  const sequence = Math.min(reached, Math.max(first - 1, reached - LOST_MAX));
  if (sequence < reached) await ownership.complete({ ...checkpoint, sequence });
  return { sequence, trimmed: Math.min(sequence, first - 1) };
}
