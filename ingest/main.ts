import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Dependency, HostContext, Mounted } from '../infra/host.ts';
import { projectRoot } from '../infra/root.ts';
import { Accounts, CONTROL_BUCKET } from './accounts.ts';
import { AddressLimit } from './address-limit.ts';
import { TrustedProxies } from './client-address.ts';
import { SecretVerifier } from './client-auth.ts';
import { Collector } from './collector.ts';
import { Enrichment } from './enrichment.ts';
import { MESSAGE_HEADER_BYTES, streamOf, subjectOf } from './event.ts';
import { Publisher } from './publisher.ts';
import { RecentAnswers } from './recent-answers.ts';
import { REJECT_REASONS } from './rejection.ts';
import { addDeviceIdRoute, addTrackRoute, answerHeaders } from './routes.ts';
import { Salts } from './salt.ts';
import { SessionQuestions } from './session-questions.ts';
import { Sessions } from './sessions.ts';
import { addTrackingConfigRoute } from './tracking-config.ts';
import { DeviceIds } from './visitor.ts';

const FORGET_ADDRESSES_MS = 60_000;

/** Adds the collection endpoints to a process. Resolves when events can be taken. */
export async function mount(context: HostContext): Promise<Mounted> {
  const { config, bus, log, metrics, http, clock } = context;
  const proxies = new TrustedProxies(config.TRUSTED_PROXIES);
  for (let partition = 0; partition < config.PARTITIONS; partition += 1)
    await bus.ensureStream(streamOf(partition), subjectOf(partition), config.BUS_BYTES_MAX);
  const accounts = await Accounts.open(bus, log);
  const salts = await Salts.open(await bus.keyed(CONTROL_BUCKET), clock, log);
  const deviceIds = new DeviceIds();
  const forgetting = setInterval(() => deviceIds.turn(clock.nowMs()), FORGET_ADDRESSES_MS).unref();
  const publisher = publisherOf(context);
  const sessions = sessionsOf(context);
  const collector = new Collector({
    accounts,
    verifier: new SecretVerifier(),
    salts,
    deviceIds,
    sessions,
    publisher,
    recent: new RecentAnswers(),
    enrichment: new Enrichment(),
    clock,
    partitions: config.PARTITIONS,
  });
  const headers = answerHeaders(release());
  const rejects = metrics.reasons('ingest_rejects_total', 'requests refused, by reason', REJECT_REASONS);
  const limit = new AddressLimit(config.TRACK_LIMIT_PER_10_S);
  const parts = { collector, proxies, clock, headers, limit, rejects };
  addTrackRoute(http, parts);
  addDeviceIdRoute(http, parts);
  addTrackingConfigRoute(http, accounts, headers);
  const busState = new BusState(context);
  return {
    dependencies: () => [busState.read()],
    stop: async () => {
      await publisher.drain();
      clearInterval(forgetting);
      sessions.stop();
      salts.stop();
      accounts.stop();
    },
  };
}

function publisherOf({ config, bus, clock, log, metrics, crashPoint }: HostContext): Publisher {
  return new Publisher({
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

function release(): string {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}
