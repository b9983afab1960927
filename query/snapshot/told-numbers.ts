import { LRUCache } from 'lru-cache';
import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import type { LaneLayout, LaneName, ServiceLanes } from '../../infra/process/service-lanes.ts';
import { lanesOfSite } from '../../infra/store/shard-of.ts';
import type { LivePart } from '../../processor/hot.ts';
import {
  decodeLiveNumbers,
  encodeLiveWatch,
  LIVE_EVERY_MS,
  type LiveNumbers,
  liveNumbersSubjectOf,
  liveWatchSubjectOf,
  WATCHED_FOR_MS,
  WATCHED_SITES_MAX,
} from '../../processor/live-numbers.ts';

/** Three broadcasts in a row may be late. After that the owner is asked, which shows whether it is gone. */
const SILENCE_MAX_MS = 3 * LIVE_EVERY_MS + 50;
/** Sites that questions ask for are watched again at this interval. */
const RENEW_EVERY_MS = WATCHED_FOR_MS / 3;
/** A site without broadcasts from its owner is requested again after this time. */
const TRY_AGAIN_MS = 5_000;
const REQUEST_MAX_MS = 1_000;

export interface ToldNumbersOptions {
  readonly bus: Pick<Bus, 'ask' | 'listen'>;
  readonly lanes: ServiceLanes;
  readonly metrics: Metrics;
}

/**
 * Live visitors of the sites that were asked for lately. The lanes' owners broadcast them
 * (`processor/live-numbers.ts`), so a question needs no request. At most `SILENCE_MAX_MS` old.
 */
export class ToldNumbers {
  readonly #bus: Pick<Bus, 'ask' | 'listen'>;
  #lanes: readonly LaneNumbers[] = [];
  #spread: LaneLayout;
  #unlisten: readonly (() => void)[] = [];
  readonly #stopFollowing: () => void;
  readonly #answers: Readonly<Record<'told' | 'asked', Counter>>;
  readonly #unreadable: Counter;
  #onTold: (projectIds: readonly StoredId[]) => void = () => {};

  constructor({ bus, lanes, metrics }: ToldNumbersOptions) {
    this.#bus = bus;
    const answers = (from: string) =>
      metrics.counter(
        'query_live_answers_total',
        'answers with live visitors, by whether the owners had told them before or were asked',
        { from },
      );
    this.#answers = { told: answers('told'), asked: answers('asked') };
    this.#unreadable = metrics.counter(
      'query_live_unreadable_messages_total',
      'messages about live visitors that could not be read',
    );
    this.#spread = lanes.layout;
    this.#follow(lanes);
    this.#stopFollowing = lanes.onChange(() => {
      if (lanes.count !== this.#lanes.length) this.#follow(lanes);
    });
  }

  /** Listens to exactly the owners of the service's current lanes. */
  #follow(lanes: ServiceLanes): void {
    for (const unlisten of this.#unlisten) unlisten();
    this.#spread = lanes.layout;
    this.#lanes = Array.from({ length: lanes.count }, (_, lane) => new LaneNumbers(lanes.nameOf(lane)));
    this.#unlisten = this.#lanes.map((lane) =>
      this.#bus.listen(liveNumbersSubjectOf(lane.name), (bytes) => {
        const numbers = this.#read(bytes);
        if (numbers === undefined) lane.forget();
        else {
          lane.hear(numbers, performance.now());
          if (numbers.sites.length > 0) this.#onTold(numbers.sites.map(([projectId]) => projectId));
        }
      }),
    );
  }

  /**
   * The live visitors of a site, by lane; undefined where the owner has not broadcast them. The owners then broadcast
   * the site for as long as questions ask for it.
   */
  of(projectId: StoredId): readonly LivePart[] | undefined {
    const parts = this.watched(projectId);
    this.#answers[parts === undefined ? 'asked' : 'told'].add();
    return parts;
  }

  /** Calls `onTold` with the sites of every broadcast, also if their numbers are unchanged. */
  listen(onTold: (projectIds: readonly StoredId[]) => void): void {
    this.#onTold = onTold;
  }

  /** Like `of`, for a caller that watches continuously and counts no answer. */
  watched(projectId: StoredId): readonly LivePart[] | undefined {
    const nowMs = performance.now();
    const parts: LivePart[] = [];
    const lanes = lanesOfSite(projectId, this.#spread);
    for (const number of lanes) {
      const lane = this.#lanes[number];
      if (lane === undefined) return undefined;
      const part = lane.of(projectId, nowMs);
      if (part !== undefined) parts.push(part);
      if (lane.isDue(projectId, nowMs)) void this.#watch(lane, projectId);
    }
    return parts.length === lanes.length ? parts : undefined;
  }

  stop(): void {
    this.#stopFollowing();
    for (const unlisten of this.#unlisten) unlisten();
  }

  async #watch(lane: LaneNumbers, projectId: StoredId): Promise<void> {
    lane.noteTry(projectId, performance.now());
    try {
      const answer = await this.#bus.ask(
        liveWatchSubjectOf(lane.name),
        encodeLiveWatch(projectId),
        REQUEST_MAX_MS,
      );
      const numbers = this.#read(answer);
      if (numbers === undefined) return;
      lane.begin(numbers, performance.now());
      this.#onTold([projectId]);
    } catch (error) {
      // The question then asks the owner itself, which shows whether it is unavailable.
      if (!(error instanceof BusError)) throw error;
    }
  }

  #read(bytes: Uint8Array): LiveNumbers | undefined {
    try {
      return decodeLiveNumbers(bytes);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.#unreadable.add();
      return undefined;
    }
  }
}

/** The broadcasts of one owner. */
class LaneNumbers {
  readonly name: LaneName;
  #incarnation = 0;
  #number = 0;
  #heardMs = Number.NEGATIVE_INFINITY;
  readonly #parts = new Map<StoredId, LivePart>();
  /** Time of the last request to watch each site. */
  readonly #triedMs = new LRUCache<StoredId, number>({ max: 10 * WATCHED_SITES_MAX });

  constructor(name: LaneName) {
    this.name = name;
  }

  /** Takes a broadcast. */
  hear(numbers: LiveNumbers, nowMs: number): void {
    if (numbers.incarnation !== this.#incarnation || numbers.number !== this.#number + 1) this.forget();
    this.#incarnation = numbers.incarnation;
    this.#number = numbers.number;
    this.#heardMs = nowMs;
    this.#take(numbers);
  }

  /** Takes the answer to a request. Ignored after a broadcast in between: the answer may be old, and the site is requested again. */
  begin(numbers: LiveNumbers, nowMs: number): void {
    if (numbers.incarnation === 0) return;
    const isSilent = nowMs - this.#heardMs > SILENCE_MAX_MS;
    const isNext = numbers.incarnation === this.#incarnation && numbers.number === this.#number;
    if (!isNext && !isSilent) {
      for (const [projectId] of numbers.sites) this.#triedMs.delete(projectId);
      return;
    }
    if (!isNext) {
      this.forget();
      for (const projectId of [...numbers.sites.map(([told]) => told), ...numbers.untold])
        this.noteTry(projectId, nowMs);
      this.#incarnation = numbers.incarnation;
      this.#number = numbers.number;
    }
    this.#heardMs = nowMs;
    this.#take(numbers);
  }

  /** Forgets the numbers: some may no longer be true. */
  forget(): void {
    this.#parts.clear();
    this.#triedMs.clear();
  }

  of(projectId: StoredId, nowMs: number): LivePart | undefined {
    return nowMs - this.#heardMs > SILENCE_MAX_MS ? undefined : this.#parts.get(projectId);
  }

  noteTry(projectId: StoredId, nowMs: number): void {
    this.#triedMs.set(projectId, nowMs);
  }

  /** The owner should be asked to broadcast the site. */
  isDue(projectId: StoredId, nowMs: number): boolean {
    const triedMs = this.#triedMs.get(projectId) ?? Number.NEGATIVE_INFINITY;
    return nowMs - triedMs > (this.of(projectId, nowMs) === undefined ? TRY_AGAIN_MS : RENEW_EVERY_MS);
  }

  #take({ sites, untold }: LiveNumbers): void {
    for (const [projectId, visitors, profiles] of sites) this.#parts.set(projectId, { visitors, profiles });
    for (const projectId of untold) this.#parts.delete(projectId);
  }
}
