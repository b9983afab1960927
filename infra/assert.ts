/**
 * Thrown when the program contradicts itself. Never catch it to continue as if nothing had happened: if the events of a site led to it, a
 * lane sets them aside, and stops otherwise.
 */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Throws unless `condition` holds. Only for mistakes of this program; bad input is a value, not an assertion. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Returns `value`, or throws when it is absent although the program's own logic requires it. */
export function must<T>(value: T | null | undefined, message: string): T {
  if (value === null || value === undefined) throw new AssertionError(message);
  return value;
}

/** Marks a branch that the types rule out; used to exhaust unions. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}
