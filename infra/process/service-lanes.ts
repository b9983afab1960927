/** The most lanes of a service, as in the setting `LANES`. */
export const LANES_MAX = 32;

/** The layout of a service on its bus. */
export interface LaneLayout {
  /** A multiple of `storeShards`. */
  readonly lanes: number;
  /** The shards of the store (`infra/store/store-shards.ts`), for good: 1 but for a service that began with more. */
  readonly storeShards: number;
  /** The number has grown since the first start. */
  readonly isGrown: boolean;
  /** The number that the service is growing to, while the processors are at it. */
  readonly growingTo: number | undefined;
}

/** The name of a lane in subjects of the bus: its number, or a text that also contains the number of lanes. */
export type LaneName = number | string;

/**
 * The name of a lane. After a service has grown, names also contain the number of lanes. A process unaware of the
 * growth then sends to a name without a listener; with only the lane's number, it would reach an owner that no longer
 * has the device. With several shards of the store, lanes have such names from the start: a process that counts one
 * shard reaches no owner either.
 */
export function laneNameOf(lane: number, { lanes, isGrown, storeShards }: LaneLayout): LaneName {
  return isGrown || storeShards > 1 ? `${lane}-of-${lanes}` : lane;
}

/** The lanes of the service, whose number may grow while the process runs. */
export class ServiceLanes {
  #layout: LaneLayout;
  readonly #listeners = new Set<() => void>();

  constructor(layout: LaneLayout) {
    this.#layout = layout;
  }

  /** Lanes whose number never changes. */
  static fixed(lanes: number): ServiceLanes {
    return new ServiceLanes({ lanes, storeShards: 1, isGrown: false, growingTo: undefined });
  }

  get count(): number {
    return this.#layout.lanes;
  }

  get layout(): LaneLayout {
    return this.#layout;
  }

  nameOf(lane: number): LaneName {
    return laneNameOf(lane, this.#layout);
  }

  /** Calls `listener` after each change of the layout; the returned function ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes the stored layout. */
  take(layout: LaneLayout): void {
    const { lanes, isGrown, growingTo } = this.#layout;
    if (layout.lanes === lanes && layout.isGrown === isGrown && layout.growingTo === growingTo) return;
    this.#layout = layout;
    for (const listener of this.#listeners) listener();
  }
}
