import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { connect, type NatsConnection, StorageType } from 'nats';
import { z } from 'zod';
import { projectRoot } from '../../infra/root.ts';
import { Store } from '../../infra/store/store.ts';
import { type Launcher, startLauncher } from '../../infra/testing/launcher.ts';
import type { Credentials } from './client.ts';
import { DATABASE, readCredentials } from './cluster.ts';
import { cpuMicros, ownResidentBytes, residentBytes, writtenBytes } from './process-cost.ts';
import { profiledNode } from './profiled-node.ts';
import { storedCounts } from './stored.ts';

/** The build of the service to run, and its settings. */
export interface ServiceSettings {
  /** Top folder of the source tree whose `npm start` is run. */
  readonly tree: string;
  /** The Node that runs it. */
  readonly node: string;
  readonly env: Readonly<Record<string, string>>;
}

/** This source tree, this Node, and default settings. */
export const DEFAULT_SETTINGS: ServiceSettings = { tree: projectRoot, node: process.execPath, env: {} };

/** Work and resource use of the service since its start. All values only grow. */
export interface ServiceTotals {
  /** CPU time by part and, as `all`, of everything together. */
  readonly cpuMicros: Readonly<Record<string, number>>;
  /** Bytes handed to the disk, by part. */
  readonly writtenBytes: Readonly<Record<string, number>>;
  /** Messages that the bus stored in files, records of buckets included. */
  readonly busMessages: number;
  /** Inserts, merges and calls of fsync, as the store's engine counts them. */
  readonly storeInserts: number;
  readonly storeMerges: number;
  readonly storeFsyncs: number;
  readonly metrics: SeriesValues;
}

/** The metrics of all processes, by name and labels exactly as exposed. */
export type SeriesValues = ReadonlyMap<string, number>;

/** The sum of the series of a metric whose labels match; undefined when there is no such metric. */
export function metricOf(series: SeriesValues, name: string, labels = /(?:)/): number | undefined {
  const all = [...series].filter(([key]) => key === name || key.startsWith(`${name}{`));
  if (all.length === 0) return undefined;
  return all.reduce((sum, [key, value]) => sum + (labels.test(key.slice(name.length)) ? value : 0), 0);
}

const DRAIN_MAX_MS = 60_000;
const STORE_TIME_MAX_MS = 60_000;
const runSchema = z.object({ parts: z.record(z.string(), z.number()) });
const secretsSchema = z.object({ storePassword: z.string() });
const readySchema = z.object({ url: z.string().optional(), metricsUrl: z.string().optional() });

/**
 * The whole service as `npm start` ships it: the launcher itself on an empty folder of its own, so whatever processes it
 * starts are the ones that are measured.
 */
export class ShippedService {
  readonly url: string;
  readonly credentials: Credentials;
  readonly #folder: string;
  readonly #launcher: Launcher;
  readonly #bus: NatsConnection;
  readonly #store: ClickHouseClient;
  readonly #endWithUs: () => void;

  private constructor(parts: {
    readonly url: string;
    readonly folder: string;
    readonly launcher: Launcher;
    readonly bus: NatsConnection;
    readonly store: ClickHouseClient;
    readonly endWithUs: () => void;
  }) {
    this.url = parts.url;
    this.credentials = readCredentials(parts.folder);
    this.#folder = parts.folder;
    this.#launcher = parts.launcher;
    this.#bus = parts.bus;
    this.#store = parts.store;
    this.#endWithUs = parts.endWithUs;
  }

  /** Starts the service and waits until it is ready. `profileTo` is a folder for CPU profiles of our programs. */
  static async start(settings: ServiceSettings, profileTo?: string): Promise<ShippedService> {
    const top = mkdtempSync(join(tmpdir(), 'footfall-shipped-'));
    const folder = join(top, 'data');
    const profiled =
      profileTo === undefined ? {} : profiledNode(settings.node, { folder: join(top, 'node'), profileTo });
    // The number of collectors is the default of `npm start`.
    const env = { TRUSTED_PROXIES: '', COLLECTORS: undefined, ...settings.env, ...profiled };
    const launcher = startLauncher(folder, env, settings.node, [], settings.tree);
    const endWithUs = () => launcher.signal('SIGTERM');
    process.once('exit', endWithUs);
    try {
      const [, url = ''] = await launcher.waitFor(/footfall is running at (http:\/\/\S+)/);
      await launcher.waitFor(/Press Ctrl-C to stop/);
      const bus = await connectBus(readFileSync(join(folder, 'bus/url'), 'utf8').trim());
      const store = connectStore(folder);
      return new ShippedService({ url, folder, launcher, bus, store, endWithUs });
    } catch (error) {
      endWithUs();
      throw error;
    }
  }

  /** A connection to the service's store with every right; the caller closes it. */
  openStore(): Store {
    const { url, password } = storeAddress(this.#folder);
    const address = new URL(url);
    address.username = 'default';
    address.password = password;
    return new Store({ url: address.href, database: DATABASE, requestTimeoutMs: STORE_TIME_MAX_MS });
  }

  get busVersion(): string {
    return this.#bus.info?.version ?? 'unknown';
  }

  /** The number of clients' events that are in the store with their sessions, which a flush writes after them. */
  async storedEvents(): Promise<number> {
    const { events, inSessions } = await storedCounts(this.#store, this.credentials.projectId);
    return Math.min(events, inSessions);
  }

  /** The number of sessions that ever began. */
  async sessions(): Promise<number> {
    return this.#count(`SELECT toUInt32(uniqExact(id)) AS value FROM sessions`);
  }

  /** A metric, summed over all series of all processes; undefined when no process has it. */
  async metric(name: string): Promise<number | undefined> {
    return metricOf(await this.#metrics(), name);
  }

  /** Resident memory of all processes, the launcher included. */
  residentMB(): number {
    return Math.round(residentBytes(this.#launcher.pid) / 1_048_576);
  }

  /** Resident memory by part, in MB; the sum of all counts shared memory several times. */
  residentMBByPart(): Record<string, number> {
    const megabytes = (bytes: number) => Math.round(bytes / 1_048_576);
    const parts = this.#parts().map(([name, pid]): [string, number] => [name, megabytes(residentBytes(pid))]);
    const launcher = megabytes(ownResidentBytes(this.#launcher.pid));
    return { ...Object.fromEntries(parts), launcher, all: this.residentMB() };
  }

  /** CPU time by part and, as `all`, of everything together, the launcher included. */
  cpuMicros(): Readonly<Record<string, number>> {
    const parts = this.#parts().map(([name, pid]): [string, number] => [name, cpuMicros(pid)]);
    return { ...Object.fromEntries(parts), all: cpuMicros(this.#launcher.pid) };
  }

  async totals(): Promise<ServiceTotals> {
    const [busMessages, storeInserts, storeMerges, storeFsyncs, metrics] = await Promise.all([
      this.#busMessages(),
      this.#engineEvents('InsertQuery'),
      this.#engineEvents('Merge'),
      this.#engineEvents('FileSync'),
      this.#metrics(),
    ]);
    const written = Object.fromEntries(this.#parts().map(([name, pid]) => [name, writtenBytes(pid)]));
    return {
      cpuMicros: this.cpuMicros(),
      writtenBytes: written,
      busMessages,
      storeInserts,
      storeMerges,
      storeFsyncs,
      metrics,
    };
  }

  async stop(): Promise<void> {
    process.off('exit', this.#endWithUs);
    await Promise.all([this.#bus.close(), this.#store.close()]);
    this.#launcher.signal('SIGTERM');
    const timer = setTimeout(() => this.#launcher.signal('SIGKILL'), DRAIN_MAX_MS);
    await this.#launcher.exited;
    clearTimeout(timer);
    rmSync(dirname(this.#folder), { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Names and process IDs, as the launcher records them. */
  #parts(): readonly (readonly [string, number])[] {
    const run: unknown = JSON.parse(readFileSync(join(this.#folder, 'run.json'), 'utf8'));
    return Object.entries(runSchema.parse(run).parts);
  }

  async #busMessages(): Promise<number> {
    const manager = await this.#bus.jetstreamManager();
    let messages = 0;
    for await (const { config, state } of manager.streams.list())
      if (config.storage === StorageType.File) messages += state.last_seq;
    return messages;
  }

  /** Processes that share a port show the metrics of all of them, so the same series may come several times. */
  async #metrics(): Promise<SeriesValues> {
    const logs = this.#parts().map(([name]) => join(this.#folder, 'logs', `${name}.log`));
    const urls = new Set(logs.flatMap(metricsUrlOf));
    const texts = await Promise.all([...urls].map(async (url) => (await fetch(url)).text()));
    const series = texts.join('\n').matchAll(/^(\w+(?:\{[^}]*\})?) (\S+)$/gm);
    return new Map([...series].map(([, key = '', value]) => [key, Number(value)]));
  }

  #engineEvents(event: string): Promise<number> {
    return this.#count(`SELECT toFloat64(value) AS value FROM system.events WHERE event = '${event}'`);
  }

  /** The one number of a statement; 0 without a row. */
  async #count(query: string): Promise<number> {
    const answer = await this.#store.query({ query, format: 'JSONEachRow' });
    const [row] = await answer.json<{ value: number }>();
    return row?.value ?? 0;
  }
}

/** The metrics address of a part, from its ready line; empty for a part that prints none, such as the bus. */
function metricsUrlOf(logPath: string): readonly string[] {
  const line = /^ready (\{.*\})$/gm;
  const last = [...readFileSync(logPath, 'utf8').matchAll(line)].at(-1)?.[1];
  if (last === undefined) return [];
  const { url, metricsUrl } = readySchema.parse(JSON.parse(last));
  return metricsUrl !== undefined ? [metricsUrl] : url !== undefined ? [`${url}/metrics`] : [];
}

function connectBus(address: string): Promise<NatsConnection> {
  const url = new URL(address);
  return connect({ servers: url.host, user: url.username, pass: url.password });
}

function connectStore(folder: string): ClickHouseClient {
  return createClient({ ...storeAddress(folder), username: 'default', database: DATABASE });
}

/** The port is in the store's log, its password with the secrets. */
function storeAddress(folder: string): { readonly url: string; readonly password: string } {
  const [metricsUrl = ''] = metricsUrlOf(join(folder, 'logs', 'store.log'));
  const secrets: unknown = JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8'));
  return { url: new URL(metricsUrl).origin, password: secretsSchema.parse(secrets).storePassword };
}
