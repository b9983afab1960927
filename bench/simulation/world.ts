import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Logger } from '../../infra/log.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { LaneArrivals, type Meaning } from './arrivals.ts';
import { Laws } from './laws.ts';
import { Network } from './network.ts';
import { SimulatedBus } from './simulated-bus.ts';
import { SimulatedStore } from './simulated-store.ts';
import { VirtualTime } from './virtual-time.ts';

/** A log without output, which reports errors to `onError`. */
export function quietLog(onError: (reason: string) => void): Logger {
  const nothing = () => {};
  const error = (fields: { readonly reason?: string }, message: string) =>
    onError(`${fields.reason ?? ''} ${message}`.trim());
  return { trace: nothing, debug: nothing, info: nothing, warn: nothing, error } as unknown as Logger;
}

/** Bus, store, time and books of one schedule. */
export class World {
  readonly time: VirtualTime;
  readonly network: Network;
  readonly bus: SimulatedBus;
  readonly store: SimulatedStore;
  readonly laws: Laws;
  readonly lanes: number;
  /** The meanings of messages, by their bytes. */
  readonly meanings = new WeakMap<Uint8Array, Meaning>();
  /** Number of occurrences of each kind. */
  readonly happened = new Map<string, number>();
  /** Sites that have a feed: their public id by the id that they are stored under. */
  readonly fedSites: ReadonlyMap<StoredId, string>;
  readonly #arrivals: readonly LaneArrivals[];

  constructor(seed: number, onStep?: (line: () => string) => void) {
    this.time = new VirtualTime(new SeededRandom(seed), onStep);
    this.lanes = this.time.random.chance(0.3) ? 2 : 1;
    // Half of the schedules and more have a feed.
    this.fedSites = new Map(this.time.random.chance(0.6) ? [[storedId('demo'), 'demo']] : []);
    this.network = new Network(this.time, this.happened);
    this.laws = new Laws((error) => this.time.fail(error));
    this.store = new SimulatedStore(this.network, (insert) => this.laws.onInsert(insert));
    this.bus = new SimulatedBus(
      this.network,
      quietLog(() => {}),
      (record) => this.laws.onWrite(record),
    );
    this.#arrivals = Array.from({ length: this.lanes }, () => new LaneArrivals());
    for (const [lane, arrivals] of this.#arrivals.entries())
      this.bus.streams.create(this.streamOf(lane), {
        appended: (bytes) => {
          const meaning = this.meanings.get(bytes);
          if (meaning === undefined) throw new Error('a message of an unknown sender');
          arrivals.take(meaning);
        },
        trimmed: (upTo) => this.laws.onTrim(lane, upTo, arrivals, this.store),
      });
  }

  streamOf(lane: number): string {
    return `lane-${lane}-events`;
  }

  /** The meaning of a lane's stream. */
  arrivalsOf(lane: number): LaneArrivals {
    const arrivals = this.#arrivals[lane];
    if (arrivals === undefined) throw new Error(`there is no lane ${lane}`);
    return arrivals;
  }

  /** A collector has heard that its message is stored. */
  acknowledge(lane: number, sequence: number): void {
    const arrivals = this.arrivalsOf(lane);
    arrivals.acknowledged = Math.max(arrivals.acknowledged, sequence);
  }
}
