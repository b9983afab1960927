/** Deletes every cache key that begins with `prefix`. Visits all keys, so it is meant for rare use. */
export function deleteKeys(
  cache: { keys(): Iterable<string>; delete(key: string): boolean },
  prefix: string,
): void {
  for (const key of [...cache.keys()]) if (key.startsWith(prefix)) cache.delete(key);
}
