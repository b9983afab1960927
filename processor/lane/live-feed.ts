import type { StoredId } from '../../infra/accounts/ids.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import type { Clock } from '../../infra/clock.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import type { LaneName } from '../../infra/process/service-lanes.ts';
import type { LivePart } from '../hot.ts';
import {
  decodeLiveWatch,
  encodeLiveNumbers,
  LIVE_EVERY_MS,
  type LiveNumber,
  liveNumbersSubjectOf,
  WATCHED_FOR_MS,
  WATCHED_SITES_MAX,
} from '../live-numbers.ts';
import type { LaneGauges } from './lane-metrics.ts';

/** Watched sites are counted this often, so that a change waits for half of it on average. */
const COUNT_EVERY_MS = 25;

export interface LiveFeedOptions {
  readonly bus: Pick<Bus, 'broadcast'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly lane: number;
  /** The lane's name on the bus. */
  readonly name: LaneName;
  readonly gauges: Pick<LaneGauges, 'watchedSites'>;
  /** The numbers of these sites in their order; undefined for one with too many profiles. */
  readonly count: (
    projectIds: readonly StoredId[],
    nowMs: number,
  ) => Promise<readonly (LivePart | undefined)[]>;
}

interface WatchedSite {
  untilMs: number;
  /** The number that was sent last, as text. */
  told: string;
}

/**
 * Sends query nodes the number of live visitors on the sites that they watch (`../live-numbers.ts`). While no site is watched it sleeps,
 * and no timer runs.
 */
export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #incarnation: number;
  readonly #rest = new Notify();
  readonly #watched = new Map<StoredId, WatchedSite>();
  #number = 0;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #telling: Promise<void> | undefined;
  /** Requests and broadcasts are counted and numbered one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
    this.#incarnation = 1 + Math.floor(options.random() * (Number.MAX_SAFE_INTEGER - 1));
  }

  /**
   * Answers a node's request for a site, and broadcasts its number from then on.
   * @throws {DecodeError}
   */
  async watch(request: Uint8Array): Promise<Uint8Array | undefined> {
    const projectId = decodeLiveWatch(request);
    if (this.#stopped) return undefined;
    return this.#inTurn(async () => {
      const [counted] = await this.#count([projectId]);
      const known = this.#watched.get(projectId);
      const isTold = counted !== undefined && (known !== undefined || this.#watched.size < WATCHED_SITES_MAX);
      if (isTold) {
        const untilMs = performance.now() + WATCHED_FOR_MS;
        // Keep the number that other nodes got last: if it differs now, it is broadcast again.
        if (known === undefined) this.#watched.set(projectId, { untilMs, told: textOf(counted) });
        else known.untilMs = untilMs;
        this.#noteWatched();
        this.#telling ??= this.#tellWhileWatched().finally(() => {
          this.#telling = undefined;
        });
      }
      const sites = isTold ? [numberOf(projectId, counted)] : [];
      return encodeLiveNumbers({ ...this.#mark, sites, untold: isTold ? [] : [projectId] });
    });
  }

  /** Stops broadcasting. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#rest.end();
    await this.#telling;
    this.#watched.clear();
    this.#noteWatched();
  }

  get #mark(): { readonly incarnation: number; readonly number: number } {
    return { incarnation: this.#incarnation, number: this.#number };
  }

  async #tellWhileWatched(): Promise<void> {
    const { log, lane } = this.#options;
    await this.#rest.sleep(COUNT_EVERY_MS);
    while (!this.#stopped && this.#watched.size > 0) {
      try {
        await this.#inTurn(() => this.#tell());
      } catch (error) {
        // Nodes that hear nothing ask, and the next broadcast sends the missing numbers.
        if (!this.#stopped) log.info({ lane, reason: reasonOf(error) }, 'live numbers could not be sent');
      }
      await this.#rest.sleep(COUNT_EVERY_MS);
    }
  }

  async #tell(): Promise<void> {
    const { bus, name } = this.#options;
    const projectIds = [...this.#watched.keys()];
    const counted = await this.#count(projectIds);
    if (this.#stopped) return;
    const sites: LiveNumber[] = [];
    const untold: StoredId[] = [];
    const changed = new Map<WatchedSite, string>();
    const nowMs = performance.now();
    for (const [index, projectId] of projectIds.entries()) {
      const [number, site] = [counted[index], this.#watched.get(projectId)];
      if (site === undefined) continue;
      if (number === undefined || site.untilMs < nowMs) {
        untold.push(projectId);
        continue;
      }
      const text = textOf(number);
      if (text === site.told) continue;
      changed.set(site, text);
      sites.push(numberOf(projectId, number));
    }
    // Without a change, one broadcast now and then says that nothing was missed.
    const isDue = nowMs - this.#toldAtMs >= LIVE_EVERY_MS;
    if (sites.length === 0 && untold.length === 0 && !isDue) return;
    const number = this.#number + 1;
    bus.broadcast(
      liveNumbersSubjectOf(name),
      encodeLiveNumbers({ incarnation: this.#incarnation, number, sites, untold }),
    );
    this.#number = number;
    this.#toldAtMs = nowMs;
    for (const [site, text] of changed) site.told = text;
    for (const projectId of untold) this.#watched.delete(projectId);
    this.#noteWatched();
  }

  #noteWatched(): void {
    this.#options.gauges.watchedSites.set(this.#watched.size);
  }

  #count(projectIds: readonly StoredId[]): Promise<readonly (LivePart | undefined)[]> {
    return this.#options.count(projectIds, this.#options.clock.nowMs());
  }

  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}

function numberOf(projectId: StoredId, { visitors, profiles }: LivePart): LiveNumber {
  return [projectId, visitors, profiles];
}

/** Equal texts are equal numbers. */
function textOf({ visitors, profiles }: LivePart): string {
  return profiles.length === 0
    ? String(visitors)
    : `${visitors} ${profiles.toSorted((a, b) => a - b).join(' ')}`;
}
