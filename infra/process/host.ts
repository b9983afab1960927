import { setTimeout as sleep } from 'node:timers/promises';
import { Bus } from '../bus/bus.ts';
import { configuredBus } from '../bus/bus-servers.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type Config, readConfig } from '../config.ts';
import { HttpServer, type RequestHead } from '../http/http.ts';
import { OpenBodies } from '../http/open-bodies.ts';
import { addOperations, type Readiness } from '../http/operations.ts';
import { createLogger, type Logger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { isExposed } from '../network/exposure.ts';
import { type HealthWarning, mergedWarnings } from '../network/ignored-forwarding.ts';
import { operationsAccess } from '../network/operations-access.ts';
import { shardAddresses } from '../store/store-shards.ts';
import { agreeOnKey } from './agreed-key.ts';
import { followLanes } from './agreed-lanes.ts';
import { type CrashPoint, crashPoints } from './crashpoint.ts';
import { BusWatch, type Dependency, reportedDependency } from './dependency.ts';
import { DiskWatch } from './disk-watch.ts';
import { checkPort } from './free-port.ts';
import { exitWithParent } from './parent-watch.ts';
import { groupMembers, ProcessGroup, reportedWarning } from './process-group.ts';
import type { ServiceLanes } from './service-lanes.ts';

const DRAIN_MAX_MS = 15_000;

/** The resources that a service gets from its process. */
export interface HostContext {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly bus: Bus;
  readonly http: HttpServer;
  readonly clock: Clock;
  readonly crashPoint: (point: CrashPoint) => void;
  /** The lanes of the service, see `agreed-lanes.ts`. */
  readonly lanes: ServiceLanes;
}

/** A mounted service. */
export interface Mounted {
  /** The service's required dependencies besides the bus, and their availability. */
  dependencies(): readonly Dependency[];
  /** True if it can do its work, besides its dependencies; always when absent. */
  isReady?(): boolean;
  /** Conditions that the operator should look at, although everything works. */
  warnings?(): readonly HealthWarning[];
  /** More that the details of readiness show. */
  details?(): object;
  /** Finishes accepted work and releases every resource. */
  stop(): Promise<void>;
}

/** The export of `main.ts` in a room that answers HTTP. */
export interface Mountable {
  mount(context: HostContext): Promise<Mounted>;
}

/**
 * Runs the rooms named on the command line in one process on one port: `host.js ingest query`, or each in its own. The names are resolved
 * at run time, so that this file knows no room.
 */
async function main(rooms: readonly string[]): Promise<void> {
  const config = readConfig();
  const log = createLogger(rooms.join('+'), config.LOG_LEVEL);
  exitWithParent();
  const { HTTP_PROCESSES } = config;
  await checkPort(config.HOST, config.PORT, HTTP_PROCESSES === '' ? '' : `HTTP_PROCESSES=${HTTP_PROCESSES}`);
  const metrics = new Metrics();
  const bus = await Bus.connect(
    configuredBus(config, { name: `${rooms.join('+')} ${config.INSTANCE}`, metrics }),
    log,
  );
  await agreeOnKey(bus, config.SECRETS_KEY);
  const configured = { lanes: config.LANES, storeShards: shardAddresses(config).length };
  const { lanes, stop: stopFollowing } = await followLanes(bus, configured, log);
  const bodies = new OpenBodies({ metrics });
  const http = new HttpServer((error) => log.error({ err: error }, 'a request failed'), bodies);
  const crashPoint = crashPoints(config.CRASH_POINT);
  const context: HostContext = { config, log, metrics, bus, http, clock: systemClock, crashPoint, lanes };
  const busWatch = new BusWatch(bus, systemClock);
  const disk = await DiskWatch.open(config, systemClock);
  const mounted: { readonly room: string; readonly service: Mounted }[] = [];
  for (const room of rooms) {
    const module = (await import(new URL(`../../${room}/main.js`, import.meta.url).href)) as Mountable;
    mounted.push({ room, service: await module.mount(context) });
  }
  let draining = false;
  const mayRead = operationsAccess({ token: config.OPERATIONS_TOKEN, isExposed: isExposed(config) });
  if (isExposed(config) && config.OPERATIONS_TOKEN === '')
    log.warn(
      'OPERATIONS_TOKEN is not set: /metrics and the details of /healthz/ready are closed to all requests',
    );
  const readiness = (): Readiness => {
    const dependencies = [
      reportedDependency(busWatch.dependency, rooms, config),
      ...mounted.flatMap(({ room, service }) =>
        service.dependencies().map((dependency) => reportedDependency(dependency, [room], config)),
      ),
    ];
    const warnings = mergedWarnings(mounted.flatMap(({ service }) => service.warnings?.() ?? [])).map(
      reportedWarning,
    );
    const { mirrorsBehind } = bus;
    const isReachable = dependencies.every(({ up }) => up);
    const isWorking = mounted.every(({ service }) => service.isReady?.() !== false);
    const ready = !draining && isReachable && isWorking && mirrorsBehind === 0 && disk?.isFree !== false;
    const details = Object.assign({}, ...mounted.map(({ service }) => service.details?.()));
    return {
      ready,
      shown: { draining, dependencies, mirrorsBehind, disk: disk?.reported, ...details, warnings },
    };
  };
  const ownOperations = await addOperationsTo(http, { config, log, metrics, readiness, mayRead });
  const port = await http.listen(config.HOST, config.PORT);
  const url = `http://${config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST}:${port}`;
  process.stdout.write(`ready ${JSON.stringify({ url })}\n`);
  log.info({ url, rooms }, 'listening');

  const drain = async () => {
    if (draining) return;
    draining = true;
    setTimeout(() => process.exit(1), config.DRAIN_WAIT_MS + DRAIN_MAX_MS).unref();
    // A proxy sends requests until it has noticed that the service is not ready.
    await sleep(config.DRAIN_WAIT_MS);
    http.stopListening();
    for (const { service } of mounted.reverse()) await service.stop();
    http.close();
    ownOperations?.close();
    stopFollowing();
    await bus.close();
    log.info('drained');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void drain());
}

type Operations = Pick<HostContext, 'config' | 'log' | 'metrics'> & {
  readonly readiness: () => Readiness;
  readonly mayRead: (head: RequestHead) => boolean;
};

/**
 * Adds health and metrics to the port of the service. In a group, that port shows those for all processes, and this process serves its own
 * on a loopback port, whose server is returned.
 */
async function addOperationsTo(
  http: HttpServer,
  { config, log, metrics, readiness, mayRead }: Operations,
): Promise<HttpServer | undefined> {
  const members = groupMembers(config);
  if (members.length === 0) {
    addOperations(http, { metrics, readiness, mayRead });
    return undefined;
  }
  const { METRICS_PORT: ownPort, OPERATIONS_TOKEN: token } = config;
  const group = new ProcessGroup({ members, ownPort, metrics, readiness, token });
  addOperations(http, { metrics: group, readiness: () => group.readiness(), mayRead });
  const own = new HttpServer((error) => log.error({ err: error }, 'a request failed'));
  // It listens on loopback only, and no proxy passes strangers on to it.
  addOperations(own, { metrics, readiness, mayRead: operationsAccess({ token, isExposed: false }) });
  await own.listen('127.0.0.1', ownPort);
  return own;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
