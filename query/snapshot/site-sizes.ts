import { LRUCache } from 'lru-cache';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { DAY_MS } from '../../infra/durations.ts';
import type { Span } from '../time/range.ts';

const SITES_MAX = 10_000;
/** Age at which a size is read again. */
const USED_MS = 600_000;
/** Later days are estimated as the average of this many last days. */
const RECENT_DAYS = 7;

/** A site's events on a day, which begins at this second since 1970. */
export interface DayRow {
  readonly day: number;
  readonly events: number;
}

interface SiteSize {
  readonly eventsByDay: ReadonlyMap<number, number>;
  readonly firstMs: number;
  readonly endMs: number;
  readonly eventsLater: number;
}

/**
 * Approximate numbers of events by site and day, to estimate what a statement will read. While an old size is read
 * again, the old one is used.
 */
export class SiteSizes {
  readonly #sizes: LRUCache<StoredId, SiteSize>;

  /** @param read the site's events on each counted day; no row for a day without events */
  constructor(read: (site: StoredId) => Promise<readonly DayRow[]>) {
    this.#sizes = new LRUCache({
      max: SITES_MAX,
      ttl: USED_MS,
      allowStale: true,
      allowStaleOnFetchRejection: true,
      noDeleteOnFetchRejection: true,
      fetchMethod: async (site) => sizeOf(await read(site)),
    });
  }

  /** The site's events in these spans; infinite if they could not be read. */
  async eventsIn(site: StoredId, spans: readonly Span[]): Promise<number> {
    const size = await this.#sizes.fetch(site).catch(() => undefined);
    if (size === undefined) return Number.POSITIVE_INFINITY;
    return Math.round(spans.reduce((sum, span) => sum + eventsOf(size, span), 0));
  }

  evict(site: StoredId): void {
    this.#sizes.delete(site);
  }
}

function sizeOf(rows: readonly DayRow[]): SiteSize {
  const days = [...rows].sort((a, b) => a.day - b.day);
  const recent = days.slice(-RECENT_DAYS);
  return {
    eventsByDay: new Map(days.map(({ day, events }) => [day * 1000, events])),
    firstMs: (days[0]?.day ?? 0) * 1000,
    endMs: (days.at(-1)?.day ?? 0) * 1000 + DAY_MS,
    eventsLater: recent.reduce((sum, { events }) => sum + events, 0) / Math.max(recent.length, 1),
  };
}

function eventsOf({ eventsByDay, firstMs, endMs, eventsLater }: SiteSize, { fromMs, toMs }: Span): number {
  let sum = 0;
  const [counted, until] = [Math.max(fromMs, firstMs), Math.min(toMs, endMs)];
  for (let day = Math.floor(counted / DAY_MS) * DAY_MS; day < until; day += DAY_MS) {
    const share = (Math.min(day + DAY_MS, until) - Math.max(day, counted)) / DAY_MS;
    sum += share * (eventsByDay.get(day) ?? 0);
  }
  return sum + (Math.max(toMs - Math.max(fromMs, endMs), 0) / DAY_MS) * eventsLater;
}
