import type { StoredId } from '../accounts/ids.ts';
import { hashText, mixed } from '../hash/fnv.ts';

/** The number of shards of the store. */
export interface ShardCount {
  readonly storeShards: number;
}

/** The shard of the store that has everything of a site. */
export function storeShardOf(storedId: StoredId, { storeShards }: ShardCount): number {
  return storeShards === 1 ? 0 : mixed(hashText(storedId)) % storeShards;
}

/** The shard of the store that has everything of a lane. */
export function storeShardOfLane(lane: number, { storeShards }: ShardCount): number {
  return lane % storeShards;
}

/** The lanes that may have something of a site: all lanes of its shard. */
export function lanesOfSite(
  storedId: StoredId,
  spread: ShardCount & { readonly lanes: number },
): readonly number[] {
  const first = storeShardOf(storedId, spread);
  const count = spread.lanes / spread.storeShards;
  return Array.from({ length: count }, (_, index) => first + index * spread.storeShards);
}
