import { LRUCache } from 'lru-cache';
import type { Accounts, Site } from '../../infra/accounts/accounts.ts';
import type { HostContext } from '../../infra/process/host.ts';
import type { Authenticator } from '../http/authenticator.ts';
import { answerLiveDetails } from '../insights/live.ts';
import type { HotView } from '../snapshot/hot-view.ts';
import { SharedFetch } from '../snapshot/shared-fetch.ts';
import type { ToldNumbers } from '../snapshot/told-numbers.ts';
import { Zones } from '../time/zone.ts';
import { ConnectionCounts } from './connection-counts.ts';
import type { LiveNumberAnswer } from './live-api.ts';
import { LiveDoor } from './live-door.ts';
import { LiveHub } from './live-hub.ts';
import { addLiveRoutes, sendToTopics } from './live-routes.ts';
import type { LiveTokens } from './live-tokens.ts';
import { addWidgetScript } from './widget-script.ts';

/** Details of a site are counted again after this time at the earliest, however many ask. */
const DETAILS_REUSE_MS = 5_000;
const DETAILS_SITES_MAX = 1_000;

export interface LiveOptions {
  readonly context: Pick<HostContext, 'config' | 'http' | 'clock' | 'metrics' | 'log'>;
  readonly accounts: Pick<Accounts, 'site' | 'client'>;
  readonly authenticator: Authenticator;
  readonly tokens: LiveTokens;
  readonly hot: HotView;
  readonly told: ToldNumbers;
}

/** Serves everything below `/live` and the widget's script. */
export function openLive({ context, accounts, authenticator, tokens, hot, told }: LiveOptions): {
  /** Ends every connection; clients connect again, to the next process. */
  stop(): void;
} {
  const { config, http, clock, metrics, log } = context;
  const counts = new ConnectionCounts({
    processMax: config.LIVE_CONNECTIONS_MAX,
    siteMax: Math.ceil(config.LIVE_CONNECTIONS_MAX / 2),
    addressMax: config.LIVE_CONNECTIONS_PER_ADDRESS_MAX,
  });
  const door = new LiveDoor({ directory: accounts, authenticator, tokens, counts, clock, metrics });
  const hub = new LiveHub({
    hot,
    told,
    clock,
    metrics,
    log,
    recordOf: (siteId) => accounts.site(siteId),
    send: (storedId, reading) => sendToTopics(http, storedId, reading),
  });
  const zones = new Zones();
  type Details = Pick<LiveNumberAnswer, 'visitors' | 'pages' | 'minutes'>;
  const shared = new LRUCache<string, SharedFetch<Details>>({ max: DETAILS_SITES_MAX });
  const details = (site: Site): Promise<Details> => {
    const key = JSON.stringify([site.storedId, site.timezone]);
    const fetch =
      shared.get(key) ??
      new SharedFetch(
        async () => {
          const scope = { site, zone: zones.of(site.timezone), nowMs: clock.nowMs() };
          // Countries and referrers are not public.
          const { visitors, pages, minutes } = await answerLiveDetails(hot, scope);
          return { visitors, pages, minutes };
        },
        clock,
        DETAILS_REUSE_MS,
      );
    shared.set(key, fetch);
    return fetch.get();
  };
  const nowMs = () => clock.nowMs();
  const routes = addLiveRoutes({ http, authenticator, door, hub, metrics, details, nowMs });
  addWidgetScript(http);
  return {
    stop: () => {
      routes.stop();
      hub.stop();
    },
  };
}
