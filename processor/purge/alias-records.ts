import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { type Alias, decodeAlias } from '../../ingest/entity-update.ts';

/** A stored alias, and where it lies. */
export interface AliasRecord extends Alias {
  readonly key: string;
}

/** The aliases of a site. */
export async function aliasesOf(bucket: KeyedBytes, storedId: string): Promise<AliasRecord[]> {
  const found: AliasRecord[] = [];
  for (const key of await bucket.keys()) {
    const stored = await bucket.get(key);
    const alias = stored?.bytes === undefined ? undefined : decodeAlias(stored.bytes);
    if (alias?.projectId === storedId) found.push({ ...alias, key });
  }
  return found;
}

/** All names of the person that one of them is: whatever stands for another is the same one. */
export function namesOfPerson(
  aliases: readonly Pick<Alias, 'alias' | 'profileId'>[],
  name: string,
): readonly string[] {
  const names = new Set([name]);
  for (let before = 0; before !== names.size; ) {
    before = names.size;
    for (const { alias, profileId } of aliases) {
      if (names.has(alias)) names.add(profileId);
      else if (names.has(profileId)) names.add(alias);
    }
  }
  return [...names];
}

/** Removes aliases, and what is left of a key that was removed: the name itself. */
export async function removeAliases(bucket: KeyedBytes, aliases: readonly AliasRecord[]): Promise<void> {
  for (const { key } of aliases) await bucket.remove(key);
  if (aliases.length > 0) await bucket.trimTombstones();
}
