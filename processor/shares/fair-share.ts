/** A processor that runs, and how many lanes it owns. */
export interface LaneShare {
  readonly instance: string;
  readonly owned: number;
}

/** Number of lanes that a processor takes by itself, for these numbers of lanes and processors. */
export function shareOf(lanes: number, processors: number): number {
  return Math.ceil(lanes / Math.max(1, processors));
}

/**
 * The processor to which this one should hand over a lane now; undefined when none has two lanes fewer, so that shares are as even as they
 * can be, or when it is another one's turn. All processors see the same shares and come to the same answer, so one lane moves at a time,
 * from the processor with most to the one with least.
 * @param others without this one
 */
export function receiverOf(own: LaneShare, others: readonly LaneShare[]): string | undefined {
  const sorted = [own, ...others].sort(byOwned);
  const [least] = sorted;
  const most = sorted.at(-1);
  if (least === undefined || most?.instance !== own.instance || own.owned - least.owned < 2) return undefined;
  return least.instance;
}

/** Successors of a processor that stops: one processor for each of its lanes; none when no other runs. */
export function successorsOf(
  lanes: readonly number[],
  others: readonly LaneShare[],
): ReadonlyMap<number, string> {
  const owned = new Map(others.map((share) => [share.instance, share.owned]));
  const successors = new Map<number, string>();
  for (const lane of lanes) {
    const shares = [...owned].map(([instance, count]) => ({ instance, owned: count }));
    const [least] = shares.sort(byOwned);
    if (least === undefined) break;
    successors.set(lane, least.instance);
    owned.set(least.instance, least.owned + 1);
  }
  return successors;
}

function byOwned(one: LaneShare, other: LaneShare): number {
  return one.owned - other.owned || (one.instance < other.instance ? -1 : 1);
}
