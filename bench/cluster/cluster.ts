import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { z } from 'zod';
import { must } from '../../infra/assert.ts';
import { natsConfig } from '../../infra/launch/bus-config.ts';
import { ensureNatsServer } from '../../infra/launch/nats-server.ts';
import { engineFlags, STORE_THREADS, youngSpaceFlags } from '../../infra/launch/parts.ts';
import { freePorts, greetsAsNats } from '../../infra/launch/ports.ts';
import { projectRoot } from '../../infra/root.ts';
import { listed } from '../../infra/store/listed.ts';
import { storeShardOf } from '../../infra/store/shard-of.ts';
import { clusterConfig } from '../../infra/testing/cluster-config.ts';
import { untilFormed } from '../../infra/testing/formed-cluster.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { preparedStore } from '../../processor/testing/prepared-store.ts';
import { OwnProcess, type ProcessPlan, waitFor } from './child-process.ts';
import { type Credentials, credentialsSchema } from './client.ts';
import { LOOPBACK, type Places } from './places.ts';

type Env = Readonly<Record<string, string>>;

export interface ClusterOptions {
  /** Names of the processes that answer HTTP, and the rooms that each serves. */
  readonly hosts: Readonly<Record<string, readonly ('ingest' | 'query')[]>>;
  /** Names of the processors; none for a cluster that only collects. */
  readonly processors: readonly string[];
  readonly withStore: boolean;
  /** Number of the store's shards; 1 when absent. Several are the processes `store-1` and so on. */
  readonly storeShards?: number;
  /** Number of the bus's nats-servers, 1 or 3. Three are one cluster, `bus-1` to `bus-3`, with three copies of everything. */
  readonly busServers?: 1 | 3;
  /** Settings of every process. */
  readonly env: Env;
  /** Settings of individual processes, which override the common ones. */
  readonly envOf?: Readonly<Record<string, Env>>;
  /** Arguments of node itself, such as `--cpu-prof`, for our own programs. */
  readonly nodeArguments?: readonly string[];
  /** A folder that survives the cluster and may hold the data of an earlier one; a temporary folder when absent. */
  readonly folder?: string | undefined;
  /** Places where its processes run; by default all on loopback. */
  readonly places?: Places | undefined;
  /**
   * True if a relay, `store-relay`, that can lose an answer is in front of the store. The store itself listens on loopback only.
   */
  readonly storeRelay?: boolean;
  /** Runs when the bus, the store and the first records exist, before anything else starts. */
  readonly prepare?: ((ground: Groundwork) => Promise<void>) | undefined;
}

/** A cluster of which only bus and store run. */
export interface Groundwork {
  readonly folder: string;
  readonly busUrl: string;
  readonly storeUrl: string;
  readonly credentials: Credentials;
}

const HOST = '127.0.0.1';
const readySchema = z.object({ metricsUrl: z.string() });
const processorHealthSchema = z.object({ lanes: z.number(), answering: z.number(), standby: z.number() });
const HEALTH_MAX_MS = 1_000;
const METRICS_MAX_MS = 5_000;
const BUS_FILE_BYTES_MAX = 64 * 1024 ** 3;
export const DATABASE = 'footfall';

/**
 * The whole service on one machine as separate processes from `dist/`, in its own folder, on free ports that stay
 * the same across restarts. Processes: `bus` (or `bus-1` and so on), `store`, the processors and the hosts by their names.
 */
export class Cluster {
  readonly folder: string;
  readonly busUrl: string;
  readonly busVersion: string;
  /** URL of the store; lists all shards, like `CLICKHOUSE_URL`. */
  readonly storeUrl: string;
  readonly credentials: Credentials;
  readonly #processes: ReadonlyMap<string, OwnProcess>;
  readonly #urls: ReadonlyMap<string, string>;
  readonly #isKept: boolean;
  readonly #operationsToken: string;

  private constructor(parts: {
    folder: string;
    busUrl: string;
    busVersion: string;
    storeUrl: string;
    credentials: Credentials;
    processes: ReadonlyMap<string, OwnProcess>;
    urls: ReadonlyMap<string, string>;
    isKept: boolean;
    operationsToken: string;
  }) {
    this.folder = parts.folder;
    this.busUrl = parts.busUrl;
    this.busVersion = parts.busVersion;
    this.storeUrl = parts.storeUrl;
    this.credentials = parts.credentials;
    this.#processes = parts.processes;
    this.#urls = parts.urls;
    this.#isKept = parts.isKept;
    this.#operationsToken = parts.operationsToken;
  }

  /** Starts everything; after a failure it ends whatever it started. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'footfall-cluster-'));
    mkdirSync(join(folder, 'logs'), { recursive: true });
    const processes = new Map<string, OwnProcess>();
    const add = (plan: ProcessPlan) => {
      const added = new OwnProcess(plan);
      processes.set(plan.name, added);
      return added;
    };
    try {
      const places = options.places ?? LOOPBACK;
      const bus = await planBus(folder, options.busServers ?? 1, places);
      const shards = options.storeShards ?? 1;
      const [relayPort = 0, ...storePorts] = await freePorts(HOST, 1 + shards);
      const storePassword = randomBytes(12).toString('hex');
      const storeHost = options.storeRelay ? places.addressOf('store') : HOST;
      const reachedPorts = options.storeRelay ? [relayPort] : storePorts;
      const storeUrl = reachedPorts
        .map((port) => `http://default:${storePassword}@${storeHost}:${port}`)
        .join(',');
      // Beyond loopback, metrics require a token.
      const operationsToken = places === LOOPBACK ? '' : randomBytes(12).toString('hex');
      const env = {
        // vitest sets it to "/", which would mean a proxy in front.
        BASE_URL: '',
        ...options.env,
        DATA_DIR: folder,
        NATS_URL: bus.url,
        BUS_REPLICAS: String(bus.plans.length),
        CLICKHOUSE_URL: storeUrl,
        STORE_PASSWORD: storePassword,
        ...(operationsToken === '' ? {} : { OPERATIONS_TOKEN: operationsToken }),
      };
      // Programs run as `npm start` runs them.
      const cores = availableParallelism();
      const nodeArguments = [
        ...engineFlags(cores),
        ...youngSpaceFlags(false, cores),
        ...(options.nodeArguments ?? []),
      ];
      const plan = planner(folder, env, { ...options, nodeArguments });
      const relay = [storeHost, String(relayPort), String(storePorts[0])];
      // The processors find the tables that they need, as at every start but the first.
      const prepared = options.withStore && options.folder === undefined ? await preparedStore() : undefined;
      const storePlans = storePorts.map((port, shard) => {
        const name = shards === 1 ? 'store' : `store-${shard + 1}`;
        const DATA_DIR = shards === 1 ? folder : join(folder, name);
        mkdirSync(DATA_DIR, { recursive: true });
        if (prepared !== undefined) cpSync(prepared.folder, DATA_DIR, { recursive: true });
        const threads = { UV_THREADPOOL_SIZE: String(STORE_THREADS) };
        return plan(name, ['infra/store-server/main.js'], { STORE_PORT: String(port), DATA_DIR, ...threads });
      });
      const busServers = bus.plans.map(add);
      await Promise.all([
        ...busServers.map((each) => each.start()),
        ...(options.withStore ? storePlans.map((each) => add(each).start()) : []),
        options.storeRelay
          ? add(plan('store-relay', ['bench/cluster/store-relay.js', ...relay], {}, 'store')).start()
          : undefined,
      ]);
      if (busServers.length > 1) await untilFormed(bus.url, busServers);
      // Started like on its own machine: the site then allows every origin, whatever proxies a test trusts.
      const firstStart = new OwnProcess(
        plan('first-start', ['infra/accounts/first-start.js'], { TRUSTED_PROXIES: '', HOST }, ''),
      );
      firstStart.launch();
      await firstStart.gone();
      if (firstStart.ending !== '0') throw new Error(`first start failed:\n${firstStart.log()}`);
      const credentials = readCredentials(folder);
      await options.prepare?.({ folder, busUrl: bus.url, storeUrl, credentials });
      const processors = options.processors.map((name) => add(plan(name, ['processor/main.js'])));
      const urls = new Map<string, string>();
      const ports = await freePorts(HOST, Object.keys(options.hosts).length);
      const hosts = Object.entries(options.hosts).map(([name, rooms], index) => {
        urls.set(name, `http://${places.addressOf(name)}:${ports[index]}`);
        return add(plan(name, ['infra/process/host.js', ...rooms], { PORT: String(ports[index]) }));
      });
      // A start is mostly reading of programs, on one core each.
      await Promise.all([startInTurn(processors), startInTurn(hosts)]);
      const { url: busUrl, version: busVersion } = bus;
      const isKept = options.folder !== undefined;
      return new Cluster({
        ...{ folder, busUrl, busVersion, storeUrl, credentials, processes, urls, isKept },
        operationsToken,
      });
    } catch (error) {
      for (const started of [...processes.values()].reverse()) await started.kill();
      throw error;
    }
  }

  /** The names of all processes, in the order of their start. */
  get names(): readonly string[] {
    return [...this.#processes.keys()];
  }

  process(name: string): OwnProcess {
    return must(this.#processes.get(name), `the cluster has no process ${name}`);
  }

  /** The base URL of a host. */
  url(name: string): string {
    return must(this.#urls.get(name), `the cluster has no host ${name}`);
  }

  /** A client of the store; of several shards of the one that has this site. The caller closes it. */
  openStore(site: string = this.credentials.projectId): ClickHouseClient {
    const urls = listed(this.storeUrl);
    const url = new URL(urls[storeShardOf(storedId(site), { storeShards: urls.length })] ?? '');
    return createClient({
      url: `http://${url.host}`,
      username: url.username,
      password: url.password,
      database: DATABASE,
    });
  }

  /** The address at which a process serves its metrics and health; a processor's changes with each start. */
  operationsUrl(name: string): string {
    const url = this.#urls.get(name);
    if (url !== undefined) return url;
    const { metricsUrl } = readySchema.parse(JSON.parse(this.process(name).said));
    return new URL(metricsUrl).origin;
  }

  /**
   * Reports if a processor is ready, and the number of lanes that it owns or is a standby for. Throws without an answer
   * within a second.
   */
  async processorHealth(
    name: string,
  ): Promise<z.output<typeof processorHealthSchema> & { readonly ready: boolean }> {
    const answer = await this.#operations(name, '/healthz/ready', HEALTH_MAX_MS);
    return { ready: answer.ok, ...processorHealthSchema.parse(await answer.json()) };
  }

  /** A metric of a host or a processor, summed over all series with matching labels. Throws when it does not exist. */
  async metric(name: string, metric: string, labels = '[^}]*'): Promise<number> {
    const text = await (await this.#operations(name, '/metrics', METRICS_MAX_MS)).text();
    const lines = [...text.matchAll(new RegExp(`^${metric}(?:{${labels}})? (\\S+)$`, 'gm'))];
    if (lines.length === 0) throw new Error(`${name} has no metric ${metric}`);
    return lines.reduce((sum, line) => sum + Number(line[1]), 0);
  }

  #operations(name: string, path: string, maxMs: number): Promise<Response> {
    const token = this.#operationsToken;
    return fetch(this.operationsUrl(name) + path, {
      headers: token === '' ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(maxMs),
    });
  }

  async kill(name: string): Promise<void> {
    await this.process(name).kill();
  }

  /** Restarts a process, ending it first if it runs. */
  async restart(name: string, env: Env = {}): Promise<void> {
    const process = this.process(name);
    if (process.running) await process.stop();
    await process.start(env);
  }

  /** Waits until a host reports itself and all its dependencies ready. */
  async ready(name: string): Promise<void> {
    await waitFor(
      `${name} is ready`,
      () =>
        fetch(`${this.url(name)}/healthz/ready`).then(
          ({ ok }) => ok,
          () => false,
        ),
      30_000,
    );
  }

  /**
   * Ends everything and deletes the folder, unless the caller named it. With KEEP_CLUSTER=1 the folder stays for
   * inspection.
   */
  async stop(): Promise<void> {
    for (const process of [...this.#processes.values()].reverse()) await process.stop();
    const isKept = this.#isKept || process.env.KEEP_CLUSTER === '1';
    if (!isKept) rmSync(this.folder, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** The first of several processors gets all lanes, so they have an order. */
async function startInTurn(processes: readonly OwnProcess[]): Promise<void> {
  for (const each of processes) await each.start();
}

/** Reads and checks the credentials in a data folder. */
export function readCredentials(dataDir: string): Credentials {
  return credentialsSchema.parse(JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8')));
}

async function planBus(folder: string, servers: number, places: Places) {
  const server = await ensureNatsServer({ ...definedEnv(), NATS_URL: '' });
  // Reserves all ports together: a port that is free but not yet listened on would be found again.
  const all = await freePorts(HOST, 2 * servers);
  const [ports, routes] = [all.slice(servers), all.slice(0, servers)];
  const names = ports.map((_, index) => (servers === 1 ? 'bus' : `bus-${index + 1}`));
  const hosts = names.map((name) => places.addressOf(name));
  const plans = names.map((name, index): ProcessPlan => {
    const [port = 0, host = ''] = [ports[index], hosts[index]];
    const storeDir = join(folder, name);
    mkdirSync(storeDir, { recursive: true });
    const configPath = join(storeDir, 'nats.conf');
    const config = natsConfig({ port, storeDir, login: undefined, fileBytesMax: BUS_FILE_BYTES_MAX });
    const listen = `listen: "${host}:${port}"\n`;
    writeFileSync(
      configPath,
      servers === 1 ? config + listen : config + listen + clusterConfig(routes, index, hosts),
    );
    const [command, args] = places.inside(name, server.path, ['-c', configPath]);
    return {
      name,
      command,
      args,
      env: {},
      logPath: join(folder, 'logs', `${name}.log`),
      isReady: () => greetsAsNats(host, port, 500),
    };
  });
  return {
    plans,
    url: ports.map((port, index) => `nats://${hosts[index]}:${port}`).join(','),
    version: server.version,
  };
}

function planner(
  folder: string,
  env: Env,
  { envOf = {}, nodeArguments = [], places = LOOPBACK }: ClusterOptions,
) {
  // `place`: the process beside which it runs; empty for where this program runs.
  return (
    name: string,
    [program = '', ...rest]: readonly string[],
    own: Env = {},
    place = name,
  ): ProcessPlan => {
    const node = ['--enable-source-maps', ...nodeArguments, join(projectRoot, 'dist', program), ...rest];
    const [command, args] =
      place === '' ? [process.execPath, node] : places.inside(place, process.execPath, node);
    const host = place === '' ? HOST : places.addressOf(place);
    const placed = places === LOOPBACK ? { HOST: host } : { HOST: host, METRICS_HOST: host };
    return {
      name,
      command,
      args,
      env: { ...env, INSTANCE: name, ...placed, ...own, ...envOf[name] },
      logPath: join(folder, 'logs', `${name}.log`),
      isReady: undefined,
    };
  };
}

function definedEnv(): Env {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
