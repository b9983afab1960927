import type { StoredId } from '../../infra/accounts/ids.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { type Alias, aliasKeysOf, decodeAlias } from '../../ingest/entity-update.ts';

/** A stored alias and its key. */
export interface AliasRecord extends Alias {
  readonly key: string;
}

/** The aliases of a site. */
export async function aliasesOf(bucket: KeyedBytes, storedId: StoredId): Promise<AliasRecord[]> {
  const found: AliasRecord[] = [];
  for (const { key, bytes } of await bucket.list(`${aliasKeysOf(storedId)}.*`)) {
    const alias = bytes === undefined ? undefined : decodeAlias(bytes);
    if (alias !== undefined) found.push({ ...alias, key });
  }
  return found;
}

/**
 * All names of a person, given one of them. Only aliases that were made with a secret tie names to one person. Without one,
 * a visitor could have tied another person's name to this one.
 */
export function namesOfPerson(
  aliases: readonly Pick<Alias, 'alias' | 'profileId' | 'verified'>[],
  name: string,
): readonly string[] {
  const names = new Set([name]);
  for (let before = 0; before !== names.size; ) {
    before = names.size;
    for (const { alias, profileId, verified } of aliases) {
      if (!verified) continue;
      if (names.has(alias)) names.add(profileId);
      else if (names.has(profileId)) names.add(alias);
    }
  }
  return [...names];
}

/**
 * The aliases that go with a person: `erased` tie their own names together; `undone` are those that a sender without a
 * secret made of one of them or for one of them, whose other name stays.
 */
export function aliasesOfPerson<One extends Pick<Alias, 'alias' | 'profileId' | 'verified'>>(
  aliases: readonly One[],
  names: readonly string[],
): { readonly erased: readonly One[]; readonly undone: readonly One[] } {
  const own = new Set(names);
  const theirs = aliases.filter(({ alias, profileId }) => own.has(alias) || own.has(profileId));
  return {
    erased: theirs.filter(({ verified }) => verified),
    undone: theirs.filter(({ verified }) => !verified),
  };
}

/** Removes all aliases of a site, also unreadable records: their keys show names, too. */
export async function removeAliasesOfSite(bucket: KeyedBytes, storedId: StoredId): Promise<void> {
  for (const { key } of await bucket.list(`${aliasKeysOf(storedId)}.*`)) await bucket.remove(key);
}

/** Removes aliases. The markers of their keys, which show the names, go by the bucket's sweeper. */
export async function removeAliases(bucket: KeyedBytes, aliases: readonly AliasRecord[]): Promise<void> {
  for (const { key } of aliases) await bucket.remove(key);
}
