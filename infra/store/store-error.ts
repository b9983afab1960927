import { ClickHouseError } from '@clickhouse/client';

/**
 * The way to handle an error. `retryable`: the same request may succeed later. `poison`: these values can never be
 * stored or queried. `fatal`: the configuration is wrong, for any values.
 */
export type StoreErrorKind = 'retryable' | 'poison' | 'fatal';

/**
 * The place where a call failed. `server`: the store answered with an error. `timeout`: no bytes came within `requestTimeoutMs`, though
 * there was a connection. `unreachable`: no connection, a lost connection, or an answer that is not the store's.
 */
export type StoreFailure = 'server' | 'timeout' | 'unreachable';

/** The limit that a statement exceeded: its own, its user's, or the whole server's. */
export type MemoryLimit = 'query' | 'user' | 'total';

/** The facts about a failed call. */
export interface StoreErrorFacts {
  readonly kind: StoreErrorKind;
  readonly failure: StoreFailure;
  readonly code?: number;
  readonly memoryLimit?: MemoryLimit | undefined;
}

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly kind: StoreErrorKind;
  readonly failure: StoreFailure;
  /** ClickHouse's number of the error; undefined unless the store answered with one. */
  readonly code: number | undefined;
  /** Set with MEMORY_LIMIT_EXCEEDED only, and undefined there when the store does not say which limit it was. */
  readonly memoryLimit: MemoryLimit | undefined;

  constructor(
    message: string,
    { kind, failure, code, memoryLimit }: StoreErrorFacts,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.kind = kind;
    this.failure = failure;
    this.code = code;
    this.memoryLimit = memoryLimit;
  }

  /** True if the same call may succeed later. */
  get retryable(): boolean {
    return this.kind === 'retryable';
  }
}

// Timeouts, lost connections, full queues, memory, disks that are full or fail, read-only replicas, too many parts,
// shutdown, and the coordination service: the data is valid, and the store will recover.
const RETRYABLE = new Set([
  75, 76, 159, 198, 201, 202, 203, 204, 209, 210, 225, 236, 241, 242, 243, 252, 279, 285, 286, 290, 319, 364,
  394, 425, 439, 473, 499, 999, 1001,
]);
// The bytes cannot be read as rows of the table.
const POISON = new Set([
  6, 25, 26, 27, 33, 34, 38, 41, 43, 53, 69, 70, 72, 117, 131, 190, 321, 349, 376, 407, 441, 467, 469, 675,
  676,
]);

function kindOf(code: number): StoreErrorKind {
  if (RETRYABLE.has(code)) return 'retryable';
  return POISON.has(code) ? 'poison' : 'fatal';
}

/** Runs a call of the client and converts its errors to `StoreError`. */
export async function withStoreErrors<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw storeError(error);
  }
}

const MEMORY_LIMIT_EXCEEDED = 241;

/** An error of the client as ours. Anything but an error answer of the store is a failure of the connection. */
export function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  if (!(cause instanceof ClickHouseError)) {
    const failure = isRequestTimeout(cause) ? 'timeout' : 'unreachable';
    return new StoreError(cause.message, { kind: 'retryable', failure }, { cause });
  }
  const code = Number(cause.code);
  const memoryLimit = code === MEMORY_LIMIT_EXCEEDED ? memoryLimitOf(cause.message) : undefined;
  const facts = { kind: kindOf(code), failure: 'server', code, memoryLimit } as const;
  return new StoreError(`${cause.type ?? 'ERROR'} (${code}): ${cause.message}`, facts, { cause });
}

// Two facts that client and server state only in words. They are read only here; store.clickhouse.test.ts checks both against the real
// client and the real engine.

/** The client gives up a request with this text and no code. */
function isRequestTimeout(error: Error): boolean {
  return error.message === 'Timeout error.';
}

/**
 * ClickHouse's MemoryTracker writes `(total) memory limit exceeded: would use …`, `User memory limit exceeded: …` or
 * `Query memory limit exceeded: …`; older servers `Memory limit (total) exceeded`, `(for user)`, `(for query)`.
 */
const MEMORY_LIMIT_TEXT =
  /(?:\((total)\)|\b(User|Query)) memory limit exceeded|Memory limit \((total|for user|for query)\) exceeded/;

function memoryLimitOf(message: string): MemoryLimit | undefined {
  const found = MEMORY_LIMIT_TEXT.exec(message);
  switch (found?.[1] ?? found?.[2] ?? found?.[3]) {
    case 'total':
      return 'total';
    case 'User':
    case 'for user':
      return 'user';
    case 'Query':
    case 'for query':
      return 'query';
    default:
      return undefined;
  }
}
