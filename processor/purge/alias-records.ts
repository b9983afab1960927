import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { type Alias, decodeAlias } from '../../ingest/entity-update.ts';

/** A stored alias and its key. */
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

/** All names of a person, given one of them. Names that stand for each other belong to one person. */
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

/** Removes aliases. The markers of their keys, which show the names, go by the bucket's sweeper. */
export async function removeAliases(bucket: KeyedBytes, aliases: readonly AliasRecord[]): Promise<void> {
  for (const { key } of aliases) await bucket.remove(key);
}
