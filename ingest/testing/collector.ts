import {
  type Client,
  type ClientType,
  CONTROL_BUCKET,
  clientKeyOf,
  encodeRecord,
  type Site,
  siteKeyOf,
  siteSchema,
} from '../../infra/accounts/accounts.ts';
import { createSecret, hashSecret } from '../../infra/accounts/client-auth.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { type Clock, systemClock } from '../../infra/clock.ts';
import { readConfig } from '../../infra/config.ts';
import { HttpServer } from '../../infra/http/http.ts';
import { OpenBodies } from '../../infra/http/open-bodies.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { mount } from '../main.ts';

/** A collector in this process, on a free port. */
export interface TestCollector {
  readonly url: string;
  readonly metrics: Metrics;
  readonly bus: Bus;
  stop(): Promise<void>;
}

const log = createLogger('test', 'silent');
const CREATED = '2024-01-01T00:00:00.000Z';

/** Starts a real collector against a real bus; `env` overrides settings. */
export async function startCollector(
  natsUrl: string,
  options: { readonly env?: Readonly<Record<string, string>>; readonly clock?: Clock } = {},
): Promise<TestCollector> {
  const config = readConfig({
    NATS_URL: natsUrl,
    BUS_BYTES_MAX: '67108864',
    ...options.env,
  });
  const bus = await Bus.connect({ url: natsUrl, name: 'test' }, log);
  const metrics = new Metrics();
  const bodies = new OpenBodies({ metrics });
  const http = new HttpServer((error) => {
    throw error;
  }, bodies);
  const clock = options.clock ?? systemClock;
  const mounted = await mount({
    config,
    log,
    metrics,
    bus,
    http,
    clock,
    crashPoint: () => {},
    lanes: ServiceLanes.fixed(1),
  });
  const port = await http.listen('127.0.0.1', 0);
  return {
    url: `http://127.0.0.1:${port}`,
    metrics,
    bus,
    stop: async () => {
      await mounted.stop();
      http.close();
      await bus.close();
    },
  };
}

/** Adds the collector's routes to a server of the test, beside other routes. */
export const mountCollector = mount;

/** A connection of its own, like another program's. */
export function connectBus(natsUrl: string): Promise<Bus> {
  return Bus.connect({ url: natsUrl, name: 'test' }, log);
}

/** Stores a site of the team `team`. */
export async function createSite(bus: Bus, id: string, fields: Partial<Site> = {}): Promise<Site> {
  const site = siteSchema.parse({
    id,
    teamId: 'team',
    name: id,
    createdAt: CREATED,
    updatedAt: CREATED,
    ...fields,
  });
  await (await bus.keyed(CONTROL_BUCKET)).put(siteKeyOf(id), encodeRecord(site), 0);
  return site;
}

/** Stores a client with a new secret. */
export async function createClient(
  bus: Bus,
  type: ClientType,
  projectId: string | null,
): Promise<Client & { readonly secret: string }> {
  const secret = createSecret();
  const client: Client = {
    id: crypto.randomUUID(),
    name: type,
    type,
    projectId,
    teamId: 'team',
    createdAt: CREATED,
    updatedAt: CREATED,
    secretHash: hashSecret(secret),
  };
  await (await bus.keyed(CONTROL_BUCKET)).put(clientKeyOf(client.id), encodeRecord(client), 0);
  return { ...client, secret };
}
