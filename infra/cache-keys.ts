/** Deletes every key of a cache that begins with `prefix`. Looks at all of them, so it is for rare occasions. */
export function deleteKeys(
  cache: { keys(): Iterable<string>; delete(key: string): boolean },
  prefix: string,
): void {
  for (const key of [...cache.keys()]) if (key.startsWith(prefix)) cache.delete(key);
}
