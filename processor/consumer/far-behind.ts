import { DecodeError } from '../../infra/bus/decode-error.ts';
import { decodeMessageHead } from '../../ingest/event.ts';

/**
 * A consumer that has been applying for less than this may be done in a moment, even with an old message: its publisher
 * may have repeated it.
 */
const BUSY_MS = 1_000;
/** A lane this far behind does not catch up within the two seconds that a question waits. */
const BEHIND_MS = 5_000;

/**
 * True if a consumer is too far behind its stream to be waited for: it has been applying without a pause for `busyMs`,
 * and the next message was sent long before `nowMs`.
 */
export function isFarBehind(next: Uint8Array | undefined, busyMs: number, nowMs: number): boolean {
  if (next === undefined || busyMs < BUSY_MS) return false;
  try {
    const { sentAtMs } = decodeMessageHead(next);
    // A barrier was sent at no time.
    return sentAtMs > 0 && nowMs - sentAtMs > BEHIND_MS;
  } catch (error) {
    // It goes to the dead letters when its turn comes.
    if (error instanceof DecodeError) return false;
    throw error;
  }
}
