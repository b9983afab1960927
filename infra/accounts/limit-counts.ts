import { z } from 'zod';
import { STORED_KEY_CHARS_MAX } from './rate-limiter.ts';

/**
 * CONTRACT between processes that share a limit: the requests that a process allowed since its last message, as JSON on the core NATS
 * subject of the limit. Nothing is stored or confirmed: a lost message makes the limit less exact for two windows.
 */
export const LIMIT_COUNTS_VERSION = 1;

/** Maximum number of keys in one message. */
export const COUNTED_KEYS_MAX = 5_000;
const REQUESTS_MAX = 10_000_000;
/** More than any message of `COUNTED_KEYS_MAX` keys takes; JSON needs at most six bytes for a character. */
const MESSAGE_BYTES_MAX = COUNTED_KEYS_MAX * (6 * STORED_KEY_CHARS_MAX + 20) + 200;

const countsSchema = z.strictObject({
  version: z.literal(LIMIT_COUNTS_VERSION),
  process: z.string().min(1).max(64),
  window: z.int().nonnegative(),
  counts: z
    .array(z.tuple([z.string().max(STORED_KEY_CHARS_MAX), z.int().min(1).max(REQUESTS_MAX)]))
    .max(COUNTED_KEYS_MAX),
});

/** Requests that a process allowed in one window. */
export interface LimitCounts {
  /** The sender's random id, by which a process recognizes its own messages. */
  readonly process: string;
  /** The number of the window, see `RateLimiter.windowAt`. */
  readonly window: number;
  /** Requests since the last message, by stored key. */
  readonly counts: readonly (readonly [storedKey: string, requests: number])[];
}

export function limitSubjectOf(kind: string): string {
  return `limits.${kind}`;
}

export function encodeLimitCounts({ process, window, counts }: LimitCounts): Uint8Array {
  return Buffer.from(JSON.stringify({ version: LIMIT_COUNTS_VERSION, process, window, counts }));
}

/** Decodes the bytes of `encodeLimitCounts`; undefined for anything else, other versions included. */
export function decodeLimitCounts(bytes: Uint8Array): LimitCounts | undefined {
  if (bytes.length > MESSAGE_BYTES_MAX) return undefined;
  try {
    return countsSchema.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8'))).data;
  } catch {
    return undefined; // Not JSON; the caller counts it.
  }
}
