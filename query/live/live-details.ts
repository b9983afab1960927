import { LRUCache } from 'lru-cache';
import type { Site } from '../../infra/accounts/accounts.ts';
import type { Clock } from '../../infra/clock.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { metricsQuery } from '../api.ts';
import { answerLiveDetails } from '../insights/live.ts';
import { answerMetrics } from '../insights/metrics.ts';
import type { AnswerCaches } from '../rollups/answer-caches.ts';
import type { QuestionScope, Sources } from '../snapshot/question.ts';
import { Requester } from '../snapshot/requester.ts';
import { SharedFetch } from '../snapshot/shared-fetch.ts';
import { labelOf } from '../time/buckets.ts';
import { Zones } from '../time/zone.ts';
import type { LiveNumberAnswer } from './live-api.ts';

/** Minimum time between two counts of a site's details, and of its visitors of today. */
const DETAILS_REUSE_MS = 5_000;
const TODAY_REUSE_MS = 30_000;
const SITES_MAX = 1_000;
const WEEK_DAYS = 7;

type Now = Pick<LiveNumberAnswer, 'visitors' | 'pages' | 'referrers' | 'minutes'>;
type Today = NonNullable<LiveNumberAnswer['today']>;

interface SiteDetails {
  readonly now: SharedFetch<Now>;
  readonly today: SharedFetch<Today>;
}

export interface LiveDetailsOptions {
  readonly sources: Sources;
  readonly caches: AnswerCaches;
  readonly clock: Clock;
}

/** Details shown beside the live number of a site. Viewers at the same moment share one count. */
export class LiveDetails {
  readonly #options: LiveDetailsOptions;
  readonly #zones = new Zones();
  readonly #sites = new LRUCache<string, SiteDetails>({ max: SITES_MAX });

  constructor(options: LiveDetailsOptions) {
    this.#options = options;
  }

  /** Live visitors with pages and minutes; sources only for viewers that may see more than the public figures. */
  async now(site: Site, { isWhole }: { readonly isWhole: boolean }): Promise<Now> {
    const { visitors, pages, referrers, minutes } = await this.#of(site).now.get();
    return isWhole ? { visitors, pages, referrers, minutes } : { visitors, pages, minutes };
  }

  /** Visitors of today so far, and of the same day a week ago up to the same time. */
  today(site: Site): Promise<Today> {
    return this.#of(site).today.get();
  }

  #of(site: Site): SiteDetails {
    const key = JSON.stringify([site.storedId, site.timezone]);
    const known = this.#sites.get(key);
    if (known !== undefined) return known;
    const { sources, caches, clock } = this.#options;
    const scope = () => ({ site, zone: this.#zones.of(site.timezone), nowMs: clock.nowMs() });
    const made = {
      now: new SharedFetch(() => answerLiveDetails(sources.hot, scope()), clock, DETAILS_REUSE_MS),
      today: new SharedFetch(
        () => new Requester(site.teamId).run(() => answerToday(sources, scope(), caches)),
        clock,
        TODAY_REUSE_MS,
      ),
    };
    this.#sites.set(key, made);
    return made;
  }
}

async function answerToday(sources: Sources, scope: QuestionScope, caches: AnswerCaches): Promise<Today> {
  const { from, until } = dayBefore(scope, 0);
  const before = dayBefore(scope, WEEK_DAYS);
  const visitors = async (range: object) => {
    const query = metricsQuery.parse({ ...range, interval: 'hour' });
    return (await answerMetrics(sources, scope, query, caches.figures)).metrics.unique_visitors;
  };
  // In the first minute of a day there is nothing to compare with.
  const [now, weekBefore] = await Promise.all([
    visitors({ range: 'today' }),
    from === until ? undefined : visitors({ startDate: before.from, endDate: before.until }),
  ]);
  return { until, visitors: now, ...(weekBefore !== undefined && { visitors_week_before: weekBefore }) };
}

/** The day `days` before today up to the present minute, in the site's local time. */
function dayBefore({ zone, nowMs }: QuestionScope, days: number): { from: string; until: string } {
  const now = labelOf(nowMs, 'minute', zone);
  const date = new Date(Date.parse(`${now.slice(0, 10)}T00:00:00Z`) - days * DAY_MS).toISOString();
  return { from: `${date.slice(0, 10)} 00:00:00`, until: `${date.slice(0, 10)}${now.slice(10, 16)}:00` };
}
