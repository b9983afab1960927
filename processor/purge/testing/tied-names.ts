import type { StoredId } from '../../../infra/accounts/ids.ts';
import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { aliasKeyOf, encodeAlias } from '../../../ingest/entity-update.ts';

interface TiedNames {
  readonly projectId: StoredId;
  readonly person: string;
  /** Another name of the same person, as a sender with a secret said. */
  readonly own: string;
  /** Another person that a sender without a secret tied to this one. */
  readonly foreign: string;
}

/** Stores two aliases for a person. */
export async function tieNames(
  bucket: KeyedBytes,
  { projectId, person, own, foreign }: TiedNames,
): Promise<void> {
  for (const alias of [own, foreign]) {
    const record = { projectId, alias, profileId: person, verified: alias === own, createdAt: null };
    await bucket.put(aliasKeyOf(record), encodeAlias(record), 0);
  }
}
