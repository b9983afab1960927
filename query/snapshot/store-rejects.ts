import type { StoreError } from '../../infra/store/store-error.ts';
import { RejectError } from '../reject.ts';

const TOO_MANY_ROWS = 158;
const TIMEOUT_EXCEEDED = 159;
const MEMORY_LIMIT_EXCEEDED = 241;
const CANNOT_COMPILE_REGEXP = 427;

/** The store cannot be reached. Some questions are then answered from memory. */
export class StoreAwayError extends RejectError {
  constructor(cause: unknown) {
    super('store-away', 'the store cannot be reached now', cause);
  }
}

/** The statement would have read more rows than its `rowsMax`, so the store read nothing. */
export class TooManyRowsError extends Error {}

/** The client's error, where the store's error itself decides it. */
export function rejectOf(error: StoreError): Error {
  if (error.code === CANNOT_COMPILE_REGEXP)
    return new RejectError('invalid', 'filters: a regular expression cannot be read', error);
  if (error.code === TOO_MANY_ROWS)
    return new TooManyRowsError('the statement would read more rows than it may', { cause: error });
  if (error.kind !== 'retryable') return error;
  if (error.failure !== 'server') return new StoreAwayError(error);
  if (error.code === MEMORY_LIMIT_EXCEEDED) return outOfMemory(error);
  if (error.code === TIMEOUT_EXCEEDED) return tooSlow(error);
  return new RejectError('busy', 'the store cannot answer now', error);
}

/** A statement exceeded its time. */
export function tooSlow(error: StoreError): RejectError {
  return new RejectError('too-slow', 'the question took too long; ask for a shorter range', error);
}

/** Over its own limit, the question must become smaller. Over the server's limit, the same question may succeed later. */
function outOfMemory(error: StoreError): RejectError {
  if (error.memoryLimit === 'total') return new RejectError('busy', 'the store is short of memory', error);
  return new RejectError('too-large', 'the question needs too much memory; ask for a shorter range', error);
}
