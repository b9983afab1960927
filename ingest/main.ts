import { Accounts, CONTROL_BUCKET } from '../infra/accounts/accounts.ts';
import { ClientGuard } from '../infra/accounts/client-guard.ts';
import { CpuBudget } from '../infra/accounts/cpu-budget.ts';
import type { StoredId } from '../infra/accounts/ids.ts';
import { EXCHANGE_MS, SharedRateLimiter } from '../infra/accounts/shared-rate-limiter.ts';
import type { BucketOptions } from '../infra/bus/bus.ts';
import { Turns } from '../infra/concurrency/turns.ts';
import type { Metrics } from '../infra/metrics.ts';
import { AllowedOrigins } from '../infra/network/allowed-origins.ts';
import { TrustedProxies } from '../infra/network/client-address.ts';
import { IgnoredForwarding } from '../infra/network/ignored-forwarding.ts';
import { openLayouts } from '../infra/process/agreed-lanes.ts';
import { DiskWatch } from '../infra/process/disk-watch.ts';
import type { HostContext, Mounted } from '../infra/process/host.ts';
import { LaneEnds } from '../infra/process/lane-ends.ts';
import { Collector, RATE_WINDOW_MS } from './collect/collector.ts';
import { OpenSessions } from './collect/open-sessions.ts';
import { ProfileDevices } from './collect/profile-devices.ts';
import { type Cargo, Publisher, type PublisherOptions } from './collect/publisher.ts';
import { RecentAnswers } from './collect/recent-answers.ts';
import { SessionQuestions } from './collect/session-questions.ts';
import { Sessions } from './collect/sessions.ts';
import { SiteFilters } from './collect/site-filters.ts';
import { Tallies } from './collect/tallies.ts';
import { EXCLUDED_BY } from './collect/track-outcome.ts';
import { Enrichment } from './enrich/enrichment.ts';
import { LocationLookup } from './enrich/location-lookup.ts';
import { EntityQuestions } from './entity-lookup.ts';
import {
  ENTITY_UPDATE_MAX_BYTES,
  type EntityUpdate,
  encodeEntityUpdate,
  ensureLaneStreams,
  entitySubjectOf,
} from './entity-update.ts';
import { EVENT_MAX_BYTES, type Event, encodeEvent, MESSAGE_HEADER_BYTES, subjectOf } from './event.ts';
import { addBatchRoute } from './http/batch-route.ts';
import { ANSWER_HEADERS, addDeviceIdRoute, addTrackRoute, type RouteDeps } from './http/routes.ts';
import { addTrackingConfigRoute } from './http/tracking-config.ts';
import { AddressLimiter } from './identity/address-limiter.ts';
import { Aliases } from './identity/aliases.ts';
import { Salts } from './identity/salt.ts';
import { DeviceIds } from './identity/visitor.ts';
import { REJECT_REASONS } from './request/reject.ts';
import { addScriptRoutes } from './tracker/script-route.ts';

/** Open sessions are remembered longer than devices: for half an hour and more, not for two minutes in two halves. */
const SESSIONS_PER_DEVICE = 4;
/** Answers to ids of events are remembered for a day; the owner of the lane knows more of them. */
const SESSIONS_PER_ANSWER = 2;
const EVICT_EVERY_MS = 60_000;
const PUBLISH_GATHERED_EVERY_MS = 1_000;
const REFRESH_LOCATIONS_EVERY_MS = 10_000;
const TRACK_WINDOW_MS = 10_000;
/**
 * A removed salt is overwritten by the processor that sweeps the bucket, within moments: a collector that did it would need the right
 * to read and to delete every record of the bucket.
 */
const SALT_BUCKET: BucketOptions = { storage: 'file', erases: false };

/** Adds the collection endpoints to a process. Resolves when events can be taken. */
export async function mount(context: HostContext): Promise<Mounted> {
  const { config, bus, log, metrics, clock, lanes } = context;
  await ensureLaneStreams(bus, lanes.layout, config.BUS_BYTES_MAX);
  const ends = new LaneEnds(await openLayouts(bus));
  const accounts = await Accounts.open(bus, log);
  const salts = await Salts.open({
    bucket: await bus.keyed(CONTROL_BUCKET, SALT_BUCKET),
    clock,
    log,
    metrics,
  });
  const sitesOf = (teamId: string) => storedIdsOf(accounts, teamId);
  const aliases = await Aliases.open(bus, log, { sitesOf });
  const locations = await LocationLookup.open({
    path: config.GEO_DATABASE,
    isInMemory: config.GEO_IN_MEMORY === 1,
    log,
    clock,
  });
  exposeLocations(locations, metrics);
  const deviceIds = new DeviceIds(Math.ceil(config.SESSION_CACHE_MAX / SESSIONS_PER_DEVICE));
  const clientGuard = await ClientGuard.open({ ...context, accounts, service: 'ingest' });
  const limiter = new AddressLimiter(addressRatesOf(context), salts);
  const disk = await DiskWatch.open(config, clock);
  const isDiskFull = () => disk?.isFull === true;
  const publisher = publisherOf(context, EVENT_CARGO, { ends, isDiskFull });
  const records = publisherOf(context, ENTITY_CARGO, { ends, isDiskFull });
  const tallies = new Tallies(records, clock);
  const profileDevices = new ProfileDevices(records);
  const eventRates = eventRatesOf(context);
  const sessions = sessionsOf(context);
  const recent = new RecentAnswers(Math.ceil(config.SESSION_CACHE_MAX / SESSIONS_PER_ANSWER));
  evictDeletedSites(accounts, [sessions, recent]);
  const collector = new Collector({
    accounts,
    clientGuard,
    aliases,
    salts,
    deviceIds,
    filters: new SiteFilters(),
    origins: new AllowedOrigins(),
    tallies,
    eventRates,
    sessions,
    entityQuestions: new EntityQuestions(bus, lanes, config.SESSION_LOOKUP_TIMEOUT_MS),
    eventPublisher: publisher,
    entityPublisher: records,
    profileDevices,
    recentAnswers: recent,
    enrichment: new Enrichment(locations),
    clock,
    lanes,
  });
  const ignoredForwarding = new IgnoredForwarding(context);
  const proxies = new TrustedProxies({
    trusted: config.TRUSTED_PROXIES,
    header: config.CLIENT_IP_HEADER,
    onIgnored: (peer) => ignoredForwarding.note(peer),
  });
  addRoutes(context, { collector, accounts, limiter, proxies });
  // Addresses must be forgotten in time even while no request comes.
  const evictAddresses = () => {
    const nowMs = clock.nowMs();
    deviceIds.rotate(nowMs);
    locations.evict();
  };
  const publishGathered = () => {
    tallies.publish();
    profileDevices.publish(clock.nowMs());
  };
  const timers = [
    setInterval(evictAddresses, EVICT_EVERY_MS).unref(),
    setInterval(publishGathered, PUBLISH_GATHERED_EVERY_MS).unref(),
    setInterval(() => void locations.refresh(), REFRESH_LOCATIONS_EVERY_MS).unref(), // Reports its own failures.
  ];
  return {
    dependencies: () => [],
    warnings: () => ignoredForwarding.warnings(),
    stop: async () => {
      publishGathered();
      await Promise.all([publisher.drain(), records.drain()]);
      for (const timer of timers) clearInterval(timer);
      await clientGuard.stop();
      disk?.stop();
      for (const opened of [limiter, eventRates, sessions, aliases, salts, accounts]) opened.stop();
    },
  };
}

/** The ids under which a team's sites are stored, deleted ones included. */
function* storedIdsOf(accounts: Accounts, teamId: string): Iterable<StoredId> {
  for (const { value } of accounts.sites.entries()) if (value.teamId === teamId) yield value.storedId;
}

/** Evicts all cached facts about a site once it is deleted. */
function evictDeletedSites(
  accounts: Accounts,
  caches: readonly { evictSite(storedId: StoredId): void }[],
): void {
  accounts.sites.onChange((after, before) => {
    if (before === undefined || after?.value.deletion === null) return;
    for (const cache of caches) cache.evictSite(before.value.storedId);
  });
}

interface Served {
  readonly collector: Collector;
  readonly accounts: Accounts;
  readonly limiter: AddressLimiter;
  readonly proxies: TrustedProxies;
}

/** Adds the script and the collection endpoints, at the root and below each of `COLLECT_PREFIXES`. */
function addRoutes(
  { config, http, metrics, clock }: HostContext,
  { collector, accounts, limiter, proxies }: Served,
): void {
  const headers = ANSWER_HEADERS;
  const deps: RouteDeps = {
    collector,
    proxies,
    clock,
    socketWait: http.socketWait,
    cpu: new CpuBudget({ metrics, service: 'ingest' }),
    waitMaxMs: config.REQUEST_WAIT_MAX_MS,
    turns: new Turns(),
    headers,
    limiter,
    rejects: metrics.reasons(
      'ingest_rejects_total',
      'requests and bodies rejected, by reason',
      REJECT_REASONS,
    ),
    excluded: metrics.reasons(
      'ingest_excluded_total',
      'valid bodies that were not recorded, by what filtered them',
      EXCLUDED_BY,
    ),
  };
  const prefixes = config.COLLECT_PREFIXES.split(',').filter((path) => path !== '');
  const scripts = prefixes.flatMap((prefix) => [`${prefix}/script.js`, `${prefix}/op1.js`]);
  addScriptRoutes(http, { paths: scripts, headers });
  for (const prefix of ['', ...prefixes]) {
    addTrackRoute(http, deps, prefix);
    addBatchRoute(http, deps, prefix);
    addDeviceIdRoute(http, deps, prefix);
    addTrackingConfigRoute(http, accounts, headers, prefix);
  }
}

const EVENT_CARGO: Cargo<Event> = {
  name: 'events',
  encode: encodeEvent,
  bytesMax: EVENT_MAX_BYTES,
  subjectOf,
};
const ENTITY_CARGO: Cargo<EntityUpdate> = {
  name: 'records',
  encode: encodeEntityUpdate,
  bytesMax: ENTITY_UPDATE_MAX_BYTES,
  subjectOf: entitySubjectOf,
};

function publisherOf<Value>(
  context: HostContext,
  cargo: Cargo<Value>,
  { ends, isDiskFull }: Pick<PublisherOptions<Value>, 'ends' | 'isDiskFull'>,
): Publisher<Value> {
  const { config, bus, clock, log, metrics, crashPoint, lanes } = context;
  return new Publisher({
    cargo,
    bus,
    clock,
    log,
    metrics,
    crashPoint,
    lanes,
    ends,
    collectors: config.COLLECTORS,
    messageBytesMax: Math.min(config.PUBLISH_BYTES_MAX, bus.messageMaxBytes - MESSAGE_HEADER_BYTES),
    inFlightBytesMax: config.PUBLISH_IN_FLIGHT_BYTES_MAX,
    timeoutMs: config.PUBLISH_TIMEOUT_MS,
    isDiskFull,
  });
}

function exposeLocations(locations: LocationLookup, metrics: Metrics): void {
  metrics.gaugeOf(
    'ingest_location_database_built_seconds',
    'build time of the oldest location database in use, as a Unix time; 0 without one',
    {},
    () => locations.builtAtMs / 1000,
  );
  metrics.gaugeOf(
    'ingest_location_database_failing',
    '1 while a location database is missing or broken, and older data or none is in use',
    {},
    () => (locations.isFailing ? 1 : 0),
  );
  metrics.gaugeOf(
    'ingest_location_records_unreadable',
    'records of a location database that could not be read',
    {},
    () => locations.unreadable,
  );
}

/** Gives each limited site a limit of its own. */
function eventRatesOf({ bus, clock, metrics }: HostContext): SharedRateLimiter {
  const limit = { requestsMax: 0, windowMs: RATE_WINDOW_MS };
  return new SharedRateLimiter({ kind: 'site-events', limit, bus, clock, metrics, exchangeMs: EXCHANGE_MS });
}

/** Undefined without a limit. */
function addressRatesOf({ config, bus, clock, metrics }: HostContext): SharedRateLimiter | undefined {
  if (config.TRACK_LIMIT_PER_10_S === 0) return undefined;
  const limit = { requestsMax: config.TRACK_LIMIT_PER_10_S, windowMs: TRACK_WINDOW_MS };
  return new SharedRateLimiter({ kind: 'addresses', limit, bus, clock, metrics, exchangeMs: EXCHANGE_MS });
}

function sessionsOf({ config, bus, clock, metrics, lanes }: HostContext): Sessions {
  const questions = new SessionQuestions({
    bus,
    metrics,
    lanes,
    timeoutMs: config.SESSION_LOOKUP_TIMEOUT_MS,
  });
  const openSessions = new OpenSessions({
    bus,
    clock,
    metrics,
    lanes,
    inFlightMs: config.PUBLISH_TIMEOUT_MS,
  });
  return new Sessions({
    questions,
    openSessions,
    clock,
    metrics,
    knownMax: config.SESSION_CACHE_MAX,
  });
}
