import { Accounts, type Site } from '../../infra/accounts/accounts.ts';
import type { SiteId, StoredId } from '../../infra/accounts/ids.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import type { FeedMetrics } from './feed-metrics.ts';
import { ensureFeedStream, type FeedLimits } from './feed-stream.ts';
import type { FeedDeps } from './lane-feed.ts';

export interface FeedsOptions {
  readonly bus: Bus;
  readonly log: Logger;
  readonly limits: FeedLimits;
  readonly metrics: FeedMetrics;
}

/** The feeds of a process: knows at every moment which sites want one. */
export class Feeds implements FeedDeps {
  readonly limits: FeedLimits;
  readonly metrics: FeedMetrics;
  readonly #accounts: Accounts;
  #sites: ReadonlyMap<StoredId, SiteId> = new Map();

  private constructor({ limits, metrics }: FeedsOptions, accounts: Accounts) {
    this.limits = limits;
    this.metrics = metrics;
    this.#accounts = accounts;
    accounts.sites.onChange(() => this.#look());
    this.#look();
  }

  /** Resolves once it is known which sites want a feed. A bus that has no room for the stream is logged. */
  static async open(options: FeedsOptions): Promise<Feeds> {
    const { bus, log, limits } = options;
    const accounts = await Accounts.open(bus, log);
    try {
      await ensureFeedStream(bus, limits);
    } catch (error) {
      log.error({ reason: reasonOf(error) }, 'the stream of the feeds could not be made');
    }
    return new Feeds(options, accounts);
  }

  get sites(): ReadonlyMap<StoredId, SiteId> {
    return this.#sites;
  }

  stop(): void {
    this.#accounts.stop();
  }

  #look(): void {
    const wanted = [...this.#accounts.sites.entries()].filter(
      ({ value }) => value.feed && mayComeBack(value),
    );
    this.#sites = new Map(wanted.map(({ value }) => [value.storedId, value.id]));
  }
}

/**
 * A deleted site that can be restored must not miss the events that were accepted before the deletion and reach the
 * store after it.
 */
function mayComeBack({ deletion }: Site): boolean {
  return deletion === null || (deletion.status === 'waiting' && !deletion.isFinal);
}
