import type { Accounts } from '../../infra/accounts/accounts.ts';
import type { HostContext } from '../../infra/process/host.ts';
import type { Authenticator } from '../http/authenticator.ts';
import type { AnswerCaches } from '../rollups/answer-caches.ts';
import type { Sources } from '../snapshot/question.ts';
import type { ToldNumbers } from '../snapshot/told-numbers.ts';
import { ConnectionCounts } from './connection-counts.ts';
import { LiveDetails } from './live-details.ts';
import { LiveDoor } from './live-door.ts';
import { LiveHub } from './live-hub.ts';
import { addLiveRoutes, sendToTopics } from './live-routes.ts';
import type { LiveTokens } from './live-tokens.ts';
import { addScripts } from './scripts.ts';

export interface LiveOptions {
  readonly context: Pick<HostContext, 'config' | 'http' | 'clock' | 'metrics' | 'log'>;
  readonly accounts: Pick<Accounts, 'site' | 'client'>;
  readonly authenticator: Authenticator;
  readonly tokens: LiveTokens;
  readonly sources: Sources;
  readonly caches: AnswerCaches;
  readonly told: ToldNumbers;
}

/** Serves everything below `/live`, and the scripts of the widget and of the wall page. */
export function openLive({ context, accounts, authenticator, tokens, sources, caches, told }: LiveOptions): {
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
    hot: sources.hot,
    told,
    clock,
    metrics,
    log,
    recordOf: (siteId) => accounts.site(siteId),
    send: (storedId, reading) => sendToTopics(http, storedId, reading),
  });
  const details = new LiveDetails({ sources, caches, clock });
  const nowMs = () => clock.nowMs();
  const routes = addLiveRoutes({ http, authenticator, door, hub, metrics, details, nowMs });
  addScripts(http);
  return {
    stop: () => {
      routes.stop();
      hub.stop();
    },
  };
}
