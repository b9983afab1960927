import { Accounts, CONTROL_BUCKET } from '../infra/accounts/accounts.ts';
import { SecretVerifier } from '../infra/accounts/client-auth.ts';
import { WindowLimit } from '../infra/accounts/window-limit.ts';
import type { Metrics } from '../infra/metrics.ts';
import { TrustedProxies } from '../infra/network/client-address.ts';
import type { Dependency, HostContext, Mounted } from '../infra/process/host.ts';
import { release } from '../infra/root.ts';
import { Collector } from './collect/collector.ts';
import { type Cargo, Publisher } from './collect/publisher.ts';
import { RecentAnswers } from './collect/recent-answers.ts';
import { SessionQuestions } from './collect/session-questions.ts';
import { Sessions } from './collect/sessions.ts';
import { SiteFilters } from './collect/site-filters.ts';
import { Tallies } from './collect/tallies.ts';
import { Enrichment } from './enrich/enrichment.ts';
import { LocationLookup } from './enrich/location-lookup.ts';
import { EntityQuestions } from './entity-lookup.ts';
import {
  ENTITY_UPDATE_MAX_BYTES,
  type EntityUpdate,
  encodeEntityUpdate,
  entityStreamOf,
  entitySubjectOf,
} from './entity-update.ts';
import {
  EVENT_MAX_BYTES,
  type Event,
  encodeEvent,
  MESSAGE_HEADER_BYTES,
  streamOf,
  subjectOf,
} from './event.ts';
import { addBatchRoute } from './http/batch-route.ts';
import { addDeviceIdRoute, addTrackRoute, answerHeaders } from './http/routes.ts';
import { EXCLUDED_BY } from './http/track-responder.ts';
import { addTrackingConfigRoute } from './http/tracking-config.ts';
import { Aliases } from './identity/aliases.ts';
import { GuardedVerifier } from './identity/brute-force.ts';
import { Salts } from './identity/salt.ts';
import { DeviceIds } from './identity/visitor.ts';
import { REJECT_REASONS } from './request/reject.ts';
import { addScriptRoutes } from './tracker/script-route.ts';

const EVICT_ADDRESSES_MS = 60_000;
const TALLY_EVERY_MS = 1_000;
const REFRESH_LOCATIONS_MS = 10_000;

/** Adds the collection endpoints to a process. Resolves when events can be taken. */
export async function mount(context: HostContext): Promise<Mounted> {
  const { config, bus, log, metrics, http, clock } = context;
  const proxies = new TrustedProxies(config.TRUSTED_PROXIES);
  for (let partition = 0; partition < config.PARTITIONS; partition += 1) {
    await bus.ensureStream(streamOf(partition), subjectOf(partition), config.BUS_BYTES_MAX);
    await bus.ensureStream(entityStreamOf(partition), entitySubjectOf(partition), config.BUS_BYTES_MAX);
  }
  const accounts = await Accounts.open(bus, log);
  const salts = await Salts.open(await bus.keyed(CONTROL_BUCKET), clock, log);
  const deviceIds = new DeviceIds();
  const verifier = new GuardedVerifier(new SecretVerifier(), clock);
  const publisher = publisherOf(context, EVENT_CARGO);
  const records = publisherOf(context, ENTITY_CARGO);
  const tallies = new Tallies(records, clock, config.PARTITIONS);
  const tallying = setInterval(() => tallies.publish(), TALLY_EVERY_MS).unref();
  const sessions = sessionsOf(context);
  const recent = new RecentAnswers();
  accounts.sites.onChange((after, before) => {
    if (before === undefined || after?.value.deletion === null) return;
    sessions.evictSite(before.value.storedId);
    recent.evictSite(before.value.storedId);
  });
  const aliases = await Aliases.open(bus, log);
  const locations = await LocationLookup.open({ path: config.GEO_DATABASE, log, clock });
  addLocationMetrics(locations, metrics);
  const looking = setInterval(() => void locations.refresh(), REFRESH_LOCATIONS_MS).unref(); // Reports its own failures.
  const forgetting = setInterval(() => {
    deviceIds.turn(clock.nowMs());
    verifier.turn(clock.nowMs());
    locations.evict();
  }, EVICT_ADDRESSES_MS).unref();
  const collector = new Collector({
    accounts,
    verifier,
    aliases,
    salts,
    deviceIds,
    filters: new SiteFilters(),
    tallies,
    sessions,
    entityQuestions: new EntityQuestions(bus, config.PARTITIONS, config.SESSION_LOOKUP_TIMEOUT_MS),
    eventPublisher: publisher,
    entityPublisher: records,
    recentAnswers: recent,
    enrichment: new Enrichment(locations),
    clock,
    partitions: config.PARTITIONS,
  });
  const headers = answerHeaders(release());
  const rejects = metrics.reasons('ingest_rejects_total', 'requests refused, by reason', REJECT_REASONS);
  const limit = new WindowLimit(config.TRACK_LIMIT_PER_10_S);
  const excluded = metrics.reasons(
    'ingest_excluded_total',
    'bodies understood and not recorded',
    EXCLUDED_BY,
  );
  const parts = { collector, proxies, clock, headers, limit, rejects, excluded };
  const prefixes = config.COLLECT_PREFIXES.split(',').filter((path) => path !== '');
  const scripts = prefixes.flatMap((prefix) => [`${prefix}/script.js`, `${prefix}/op1.js`]);
  addScriptRoutes(http, { paths: scripts, headers });
  for (const prefix of ['', ...prefixes]) {
    addTrackRoute(http, parts, prefix);
    addBatchRoute(http, parts, prefix);
    addDeviceIdRoute(http, parts, prefix);
    addTrackingConfigRoute(http, accounts, headers, prefix);
  }
  const busState = new BusState(context);
  return {
    dependencies: () => [busState.read()],
    stop: async () => {
      tallies.publish();
      await Promise.all([publisher.drain(), records.drain()]);
      for (const timer of [forgetting, tallying, looking]) clearInterval(timer);
      sessions.stop();
      aliases.stop();
      salts.stop();
      accounts.stop();
    },
  };
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

function publisherOf<Value>(context: HostContext, cargo: Cargo<Value>): Publisher<Value> {
  const { config, bus, clock, log, metrics, crashPoint } = context;
  return new Publisher({
    cargo,
    bus,
    clock,
    log,
    metrics,
    crashPoint,
    partitions: config.PARTITIONS,
    messageBytesMax: Math.min(config.PUBLISH_BYTES_MAX, bus.messageMaxBytes - MESSAGE_HEADER_BYTES),
    inFlightBytesMax: config.PUBLISH_IN_FLIGHT_BYTES_MAX,
    timeoutMs: config.PUBLISH_TIMEOUT_MS,
  });
}

function addLocationMetrics(locations: LocationLookup, metrics: Metrics): void {
  metrics.gaugeOf(
    'ingest_location_database_built_seconds',
    'build time of the oldest location database in use, as a Unix time; 0 without any',
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
    'location records that could not be read',
    {},
    () => locations.unreadable,
  );
}

function sessionsOf({ config, bus, clock, metrics }: HostContext): Sessions {
  const questions = new SessionQuestions({
    bus,
    metrics,
    partitions: config.PARTITIONS,
    timeoutMs: config.SESSION_LOOKUP_TIMEOUT_MS,
  });
  return new Sessions({
    questions,
    clock,
    metrics,
    partitions: config.PARTITIONS,
    knownMax: config.SESSION_CACHE_MAX,
  });
}

/** Since when the bus is there or away, as far as anybody looked. */
class BusState {
  readonly #context: HostContext;
  #up: boolean;
  #since: number;

  constructor(context: HostContext) {
    this.#context = context;
    this.#up = context.bus.connected;
    this.#since = context.clock.nowMs();
  }

  read(): Dependency {
    const { bus, clock } = this.#context;
    if (bus.connected !== this.#up) {
      this.#up = bus.connected;
      this.#since = clock.nowMs();
    }
    return { name: 'bus', up: this.#up, since: this.#since };
  }
}
