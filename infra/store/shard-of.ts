/** How many shards the store has. */
export interface ShardCount {
  readonly storeShards: number;
}

/** The shard of the store, of so many, that has everything of a site. */
export function storeShardOf(storedId: string, { storeShards }: ShardCount): number {
  if (storeShards === 1) return 0;
  // FNV-1a, as for lanes.
  let hash = 0x811c9dc5;
  for (let index = 0; index < storedId.length; index += 1)
    hash = Math.imul(hash ^ storedId.charCodeAt(index), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % storeShards;
}

/** The shard of the store that has everything of a lane. */
export function storeShardOfLane(lane: number, { storeShards }: ShardCount): number {
  return lane % storeShards;
}

/** The lanes that may have something of a site: those of its shard. */
export function lanesOfSite(
  storedId: string,
  spread: ShardCount & { readonly lanes: number },
): readonly number[] {
  const first = storeShardOf(storedId, spread);
  const count = spread.lanes / spread.storeShards;
  return Array.from({ length: count }, (_, index) => first + index * spread.storeShards);
}
