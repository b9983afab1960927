import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

// An IP address or a secret must not reach a log line inside an object that is logged whole.
const REDACTED = [
  'ip',
  'secret',
  'clientSecret',
  'authorization',
  'password',
  '*.ip',
  '*.secret',
  '*.password',
];

/** The root logger of one process: JSON lines on standard error, one per state change, never one per event. */
export function createLogger(component: string, level: string): Logger {
  return pino(
    { level, base: { component, pid: process.pid }, redact: { paths: REDACTED, censor: '[redacted]' } },
    pino.destination({ dest: 2, sync: true }),
  );
}

const REASON_LENGTH = 300;

/**
 * An error as one log line of at most 300 characters. The store's own messages repeat the whole statement, which does
 * not help in a log.
 */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replace(/\s+/g, ' ').slice(0, REASON_LENGTH);
}
