import type { Logger } from '../../infra/log.ts';
import type { Counter } from '../../infra/metrics.ts';
import { type LaneShare, receiverOf, shareOf, successorsOf } from './fair-share.ts';

/** Interval between checks of the shares. */
const BALANCE_EVERY_MS = 500;
/** After a hand-over, until the others have heard of it. */
const HAND_OVER_EVERY_MS = 1_500;
/** After a lane came back because the other one did not take it. */
const REFUSED_WAIT_MS = 60_000;

/** A lane of this process, as far as its place matters. */
export interface SharedLane {
  /** True if the lane is owned, has caught up and answers. */
  readonly isAnswering: boolean;
  /** Stops the lane when everything is flushed, and gives it up for another processor. */
  handOver(to: string): void;
}

export interface LaneSharesOptions {
  /** Number of lanes of the service. */
  readonly lanes: number;
  readonly instance: string;
  /** The other processors that run. */
  readonly others: () => readonly LaneShare[];
  /** Called after this process took a lane, or gave one up. */
  readonly onChange: () => void;
  /** Called after a lane was given up for another processor. */
  readonly onOffer: (lane: number, to: string) => void;
  readonly handOvers: Counter;
  readonly log: Logger;
  /** Monotonic milliseconds from any beginning; clock changes do not affect it. */
  readonly elapsedMs?: () => number;
}

/**
 * The lanes that this process owns or is about to take. Decides whether it should have more or fewer.
 *
 *     a lane is free        a processor below its share takes it immediately; one that has its share leaves it to the others for a
 *                           while, and takes it then, so no lane stays free
 *     shares are uneven     the processor with most lanes hands one over to the one with least, one at a time, when every lane has an owner
 *     a processor stops     it names a successor for each of its lanes
 */
export class LaneShares {
  readonly #options: LaneSharesOptions;
  readonly #elapsedMs: () => number;
  /** Owned lanes, and lanes whose record is just being written. */
  readonly #taking = new Set<number>();
  readonly #owned = new Set<number>();
  /** The lane that was handed over last. */
  #handedOver: number | undefined;
  #restsUntilMs = 0;
  #successors: ReadonlyMap<number, string> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LaneSharesOptions) {
    this.#options = options;
    this.#elapsedMs = options.elapsedMs ?? (() => performance.now());
  }

  get owned(): number {
    return this.#owned.size;
  }

  /** Reserves a free lane if it is within this processor's share, and returns true. The lane counts as taken until `missed` or `gaveUp`. */
  reserve(lane: number): boolean {
    const { lanes, others } = this.#options;
    const isWithin = this.#taking.size < shareOf(lanes, others().length + 1);
    if (isWithin) this.#taking.add(lane);
    return isWithin;
  }

  /** Another processor has the lane. */
  missed(lane: number): void {
    this.#taking.delete(lane);
  }

  /** `refusedBy` is the processor for which the lane was given up, and which did not take it. */
  took(lane: number, refusedBy: string | undefined): void {
    this.#taking.add(lane);
    this.#owned.add(lane);
    if (lane === this.#handedOver && refusedBy !== undefined) {
      this.#options.log.warn({ lane, by: refusedBy }, 'the lane that was handed over was not taken');
      this.#restsUntilMs = this.#elapsedMs() + REFUSED_WAIT_MS;
      this.#handedOver = undefined;
    }
    this.#options.onChange();
  }

  /** The lane is given up; `to` is the processor that may take it first. */
  gaveUp(lane: number, to: string | undefined): void {
    this.#taking.delete(lane);
    this.#owned.delete(lane);
    if (to !== undefined) this.#options.onOffer(lane, to);
    this.#options.onChange();
  }

  /** Successor with first claim to a lane when this process stops. */
  successorOf(lane: number): string | undefined {
    this.#successors ??= successorsOf([...this.#owned], this.#options.others());
    return this.#successors.get(lane);
  }

  /** Begins to hand lanes over to processors that have fewer. */
  balance(lanes: readonly SharedLane[]): void {
    this.#timer = setInterval(() => this.balanceOnce(lanes), BALANCE_EVERY_MS);
  }

  /** Hands over one lane, if it is this processor's turn. Lanes are by their numbers. */
  balanceOnce(lanes: readonly SharedLane[]): void {
    const { instance, others: othersNow, lanes: total, handOvers, log } = this.#options;
    if (this.#elapsedMs() < this.#restsUntilMs) return;
    const others = othersNow();
    const own = { instance, owned: this.#owned.size };
    // While a lane has no owner, or two claim it, shares are about to change by themselves.
    const claimed = others.reduce((sum, share) => sum + share.owned, own.owned);
    if (claimed !== total) return;
    const to = receiverOf(own, others);
    if (to === undefined || [...this.#owned].some((lane) => lanes[lane]?.isAnswering !== true)) return;
    // The jobs of the leader stay where they are: they go with the first lane.
    const lane = Math.max(...this.#owned);
    this.#restsUntilMs = this.#elapsedMs() + HAND_OVER_EVERY_MS;
    this.#handedOver = lane;
    handOvers.add();
    log.info({ lane, to }, 'handing a lane over');
    lanes[lane]?.handOver(to);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
