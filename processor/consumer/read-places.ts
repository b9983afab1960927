import type { Bus } from '../../infra/bus/bus.ts';
import type { ReadParts, StreamMessage } from '../../infra/bus/stream-reader.ts';

const MESSAGES_PER_READ = 128;
const READ_WAIT_MS = 1_000;

/** Places of a stream that were read before, or may have been. */
export interface Places {
  readonly stream: string;
  readonly from: number;
  readonly to: number;
  readonly parts: ReadParts;
}

/** `stopped`: by `take`. `changed`: the stream was trimmed or set back meanwhile, and lacks some of the places. */
export type PlacesRead = 'all' | 'stopped' | 'changed';

class ChangedError extends Error {
  override readonly name = 'ChangedError';
}

/**
 * Reads these places again, in order, until `take` returns false.
 * @throws {BusError} when the bus does not give them
 */
export async function readPlaces(
  bus: Pick<Bus, 'reader'>,
  { stream, from, to, parts }: Places,
  take: (message: StreamMessage) => boolean,
): Promise<PlacesRead> {
  // What is missing is no fault here: the caller looks why.
  const throwChanged = async () => {
    throw new ChangedError(`stream ${stream} has changed`);
  };
  const reader = bus.reader(stream, from, throwChanged, parts);
  let next = from;
  let isTaken = true;
  try {
    while (isTaken && next <= to) {
      const before = next;
      await reader.read(Math.min(MESSAGES_PER_READ, to - next + 1), READ_WAIT_MS, (message) => {
        next = message.sequence + 1;
        isTaken = take(message);
        return isTaken && next <= to;
      });
      if (next === before) return 'changed';
    }
    return isTaken ? 'all' : 'stopped';
  } catch (error) {
    if (error instanceof ChangedError) return 'changed';
    throw error;
  } finally {
    await reader.close();
  }
}
