import type { Logger } from '../log.ts';
import type { Counter } from '../metrics.ts';
import { type Backoff, backoffMs } from './backoff.ts';

/**
 * Retries after which a repeated failure is a warning, and then an error: an operator should see what does not recover.
 */
const WARN_AFTER = 3;
const ERROR_AFTER = 10;

/** The way in which one operation is retried. */
export interface RetryOptions {
  /** The operation as a log line names it, such as `flush insert`. */
  readonly operation: string;
  readonly backoff: Backoff;
  readonly log: Logger;
  /** Fields of the log line, such as the lane. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Counts retries. */
  readonly retries: Counter;
  /** In [0, 1). */
  readonly random: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** True to give up instead of retrying; asked after each failure, with the number of retries so far. */
  readonly isEnough?: (retries: number) => boolean;
  /** Runs before each retry, such as renewing a lease; its error ends the retries. */
  readonly beforeRetry?: () => Promise<void>;
}

/**
 * Runs `act` until it succeeds. Every failed attempt that may succeed later is counted and logged, at a level that
 * rises with the attempts. An error is thrown unchanged if it is not retryable, or comes when `isEnough`.
 * @param act gets the number of the attempt, from 0
 */
export async function retry<Result>(
  options: RetryOptions,
  act: (attempt: number) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await act(attempt);
    } catch (error) {
      if (!isRetryable(error) || options.isEnough?.(attempt) === true) throw error;
      noteRetry(options, attempt, error);
    }
    await options.sleep(backoffMs(options.backoff, attempt, options.random()));
    await options.beforeRetry?.();
  }
}

/** Counts and logs a failure that is retried, for loops that cannot be a call of `retry`. */
export function noteRetry(
  { operation, log, fields, retries }: Pick<RetryOptions, 'operation' | 'log' | 'fields' | 'retries'>,
  attempt: number,
  error: unknown,
): void {
  retries.add();
  const reason = error instanceof Error ? error.message : String(error);
  log[levelOf(attempt)]({ ...fields, attempt, reason }, `${operation} failed, retrying`);
}

/** True if an error says of itself that the same call may succeed later; any other error is fatal. */
export function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true;
}

function levelOf(attempt: number): 'info' | 'warn' | 'error' {
  if (attempt < WARN_AFTER) return 'info';
  return attempt < ERROR_AFTER ? 'warn' : 'error';
}
