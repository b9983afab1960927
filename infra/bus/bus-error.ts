import { NatsError } from 'nats';

const NO_RESPONDERS = '503';
const TIMEOUT = 'TIMEOUT';
const WRONG_REVISION = 10071;

/** The bus cannot do it now, or refused. `retryable` says whether the same call may succeed later. */
export class BusError extends Error {
  override readonly name = 'BusError';
  readonly retryable: boolean;
  /** `conflict`: another writer was first. `no-responders`: nobody listens. */
  readonly reason: 'conflict' | 'no-responders' | 'timeout' | 'full' | 'other';

  constructor(message: string, reason: BusError['reason'], cause: unknown) {
    super(message, { cause });
    this.reason = reason;
    this.retryable = reason !== 'conflict';
  }
}

/** Any failure of the client library as ours. */
export function busError(what: string, cause: unknown): BusError {
  if (cause instanceof BusError) return cause;
  const code = cause instanceof NatsError ? cause.code : '';
  const apiCode = cause instanceof NatsError ? cause.api_error?.err_code : undefined;
  const message = `bus: ${what}: ${cause instanceof Error ? cause.message : String(cause)}`;
  if (apiCode === WRONG_REVISION) return new BusError(message, 'conflict', cause);
  if (code === NO_RESPONDERS) return new BusError(message, 'no-responders', cause);
  if (code === TIMEOUT) return new BusError(message, 'timeout', cause);
  if (/maximum bytes|no space|insufficient/i.test(message)) return new BusError(message, 'full', cause);
  return new BusError(message, 'other', cause);
}
