import { Accounts } from '../infra/accounts/accounts.ts';
import { ClientGuard } from '../infra/accounts/client-guard.ts';
import { CpuBudget } from '../infra/accounts/cpu-budget.ts';
import { RateLimiter } from '../infra/accounts/rate-limiter.ts';
import { EXCHANGE_MS, SharedRateLimiter } from '../infra/accounts/shared-rate-limiter.ts';
import { limitedNetwork, TrustedProxies } from '../infra/network/client-address.ts';
import { IgnoredForwarding } from '../infra/network/ignored-forwarding.ts';
import { FailingLanes } from '../infra/process/failing-lanes.ts';
import type { HostContext, Mounted } from '../infra/process/host.ts';
import { groupMembers } from '../infra/process/process-group.ts';
import { neededShardAddresses, PerShard } from '../infra/store/store-shards.ts';
import { EntityQuestions } from '../ingest/entity-lookup.ts';
import { addDashboard } from './dashboard/dashboard-assets.ts';
import { MirroredDefinitions } from './definitions/definitions.ts';
import { AuditedRequests } from './http/audited-requests.ts';
import { Authenticator } from './http/authenticator.ts';
import { BrowserHeads } from './http/browser-head.ts';
import { openLive } from './live/live.ts';
import { LiveTokens } from './live/live-tokens.ts';
import { Catalog } from './manage/catalog.ts';
import { openManage } from './manage/main.ts';
import { addDocumentation } from './openapi/documentation.ts';
import { FinalizedFunnels } from './paths/finalized-funnels.ts';
import { KeptSessions } from './people/kept-sessions.ts';
import { AnswerCaches } from './rollups/answer-caches.ts';
import { questionEndpoints } from './routes.ts';
import { openSignIn } from './sign-in/open-sign-in.ts';
import { Passphrases } from './sign-in/passphrases.ts';
import { SiteMemory } from './site-memory.ts';
import { BacklogWatch } from './snapshot/backlog-watch.ts';
import { History } from './snapshot/history.ts';
import { HotView } from './snapshot/hot-view.ts';
import { SharedAnswers } from './snapshot/shared-answers.ts';
import { openStoreConnections } from './snapshot/store-connections.ts';
import { ToldNumbers } from './snapshot/told-numbers.ts';

/** Added to the store's time limit for a statement, so the store is first to report a timeout. */
const ANSWER_SLACK_MS = 5_000;
const RECORD_TIME_MAX_MS = 3_000;
const LIMIT_WINDOW_MS = 10_000;

/** Mounts the room: answers questions below `/insights` and `/export`, and manages sites and clients below `/manage`. */
export async function mount(context: HostContext): Promise<Mounted> {
  const { config, bus, clock, log, metrics, http, lanes } = context;
  const requestTimeoutMs = config.QUERY_TIME_MAX_MS + ANSWER_SLACK_MS;
  const addresses = neededShardAddresses(config);
  const stores = await Promise.all(
    addresses.map((address, shard) => {
      const place = { shard, shards: addresses.length };
      return openStoreConnections({ address, place, requestTimeoutMs, clock, log });
    }),
  );
  const accounts = await Accounts.open(bus, log);
  const catalog = await Catalog.open(bus, log);
  const memory = new SiteMemory();
  const questionLimiter = limiterOf('questions', config.QUERY_LIMIT_PER_10_S, context);
  const manageLimiter = limiterOf('manage', config.MANAGE_LIMIT_PER_10_S, context);
  const clientGuard = await ClientGuard.open({ ...context, accounts, service: 'query' });
  const ignoredForwarding = new IgnoredForwarding(context);
  const proxies = new TrustedProxies({
    trusted: config.TRUSTED_PROXIES,
    header: config.CLIENT_IP_HEADER,
    onIgnored: (peer) => ignoredForwarding.note(peer),
  });
  const browsers = new BrowserHeads({ proxies, baseUrl: config.BASE_URL });
  const passphrases = new Passphrases();
  const { users, shares } = catalog;
  const signIn = await openSignIn({ context, accounts, users, shares, clientGuard, passphrases });
  const viewers = new RateLimiter({ requestsMax: config.QUERY_LIMIT_PER_10_S, windowMs: LIMIT_WINDOW_MS });
  const authenticator = new Authenticator({
    directory: accounts,
    clientGuard,
    proxies,
    browsers,
    cookieCallers: signIn.cookies,
    limiters: { insights: questionLimiter, export: questionLimiter, manage: manageLimiter },
    cpu: new CpuBudget({ metrics, service: 'query' }),
    waitMs: () => http.socketWait.waitMs(),
    takeAsViewer: (address) => viewers.take(limitedNetwork(address), clock.nowMs()),
    metrics,
    log,
  });
  const backlog = new BacklogWatch(bus, lanes);
  backlog.start();
  const failing = new FailingLanes(bus);
  const told = new ToldNumbers({ bus, lanes, metrics });
  const limits = { timeMaxMs: config.QUERY_TIME_MAX_MS, memoryMaxBytes: config.QUERY_MEMORY_MAX_BYTES };
  const hot = new HotView({ bus, lanes, laneWaitMaxMs: config.LANE_WAIT_MAX_MS, clock, metrics, log, told });
  const tokens = new LiveTokens({ secretsKey: config.SECRETS_KEY, clock, directory: accounts });
  const history = new History({
    shards: stores.map((store) => store.history),
    limits,
    processes: Math.max(1, groupMembers(config).length),
    heldEventsMax: config.HELD_EVENTS_MAX,
    metrics,
  });
  const sources = { history, hot };
  const caches = new AnswerCaches(config.ANSWER_CACHE_MAX_MB * 1_000_000);
  const funnels = new FinalizedFunnels(caches.space);
  const kept = new KeptSessions();
  memory.onEvict((storedId) => kept.evict(storedId));
  const questions = questionEndpoints({
    answers: new SharedAnswers(metrics),
    ...sources,
    tokens,
    records: new EntityQuestions(bus, lanes, RECORD_TIME_MAX_MS),
    directory: accounts,
    definitions: new MirroredDefinitions(catalog),
    saved: catalog,
    clock,
    memory,
    caches,
    funnels,
    kept,
  });
  const manage = await openManage({
    context,
    accounts,
    catalog,
    uses: clientGuard.uses,
    passphrases,
    rowStores: new PerShard(
      stores.map(({ store, history: { isReachable } }) => ({ store, isStoreReachable: isReachable })),
    ),
    memory,
  });
  const endpoints = [...questions, ...manage.endpoints];
  const audited = new AuditedRequests(manage.audit, log);
  for (const endpoint of endpoints) endpoint.addTo(http, { authenticator, audited, metrics });
  signIn.addRoutes(authenticator, browsers);
  const live = openLive({ context, accounts, authenticator, tokens, sources, caches, told });
  addDocumentation(http, endpoints);
  addDashboard(http);
  return {
    dependencies: () => stores.map(({ dependency }) => dependency()),
    warnings: () => ignoredForwarding.warnings(),
    isReady: () => failing.lanes.length === 0,
    details: () => ({ backlog: backlog.reported, failingLanes: failing.lanes }),
    stop: async () => {
      live.stop();
      signIn.stop();
      told.stop();
      failing.stop();
      backlog.stop();
      questionLimiter.stop();
      manageLimiter.stop();
      manage.stop();
      catalog.stop();
      await clientGuard.stop();
      accounts.stop();
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}

/** Limits each client over all query processes; `requestsMax` 0: no limit. */
function limiterOf(
  kind: string,
  requestsMax: number,
  { bus, clock, metrics }: HostContext,
): SharedRateLimiter {
  const limit = { requestsMax, windowMs: LIMIT_WINDOW_MS };
  return new SharedRateLimiter({ kind, limit, bus, clock, metrics, exchangeMs: EXCHANGE_MS });
}
