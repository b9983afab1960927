import { availableParallelism, hostname } from 'node:os';
import { resolve } from 'node:path';
import { DAY_MS, HOUR_MS } from './durations.ts';
import { collectorsFor, workersFor } from './process-counts.ts';
import { projectRoot } from './root.ts';
import { BUCKET_SETTINGS } from './settings/bucket-settings.ts';
import { BUS_SETTINGS } from './settings/bus-settings.ts';
import { anyText, integer, matching, oneOf, type Setting, type SettingSchema } from './settings/schemas.ts';
import { readSettingsFile } from './settings/settings-file.ts';
import { STORE_SETTINGS } from './settings/store-settings.ts';

/**
 * Every setting of every process: its default, its bounds, and one line on when to change it. Only this table reads
 * settings, from the environment and from the settings file. `infra/README.md` lists the table, and `infra/tidy.test.ts` checks that both are equal.
 */
export const SETTINGS = {
  SMALL: {
    schema: integer(0, 1),
    default: '0',
    help: '1: other defaults, with which the whole service runs in 512 MB of memory, see launch/README.md',
  },
  FOOTFALL_CONF: {
    schema: anyText,
    default: 'footfall.conf',
    help: 'file with settings, see above; a path is below the folder of the project, or absolute',
  },
  PORT: {
    schema: integer(0, 65_535),
    default: '3000',
    help: 'port of the HTTP service; 0 picks a free port',
  },
  HOST: {
    schema: anyText,
    default: '127.0.0.1',
    help: 'address to listen on; 0.0.0.0 for all interfaces',
  },
  BASE_URL: {
    schema: anyText,
    default: '',
    help: 'public URL of the service, when it runs behind a proxy',
  },
  DATA_DIR: {
    schema: anyText,
    default: '.data',
    help: 'folder for the data of bus and store, the credentials and the logs',
  },
  LOG_LEVEL: {
    schema: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    default: 'info',
    help: 'lowest level that is logged',
  },
  DISK_FREE_MIN_BYTES: {
    schema: integer(0, 1_099_511_627_776),
    default: '268435456',
    help: 'free bytes of the disk of DATA_DIR below which this node is not ready; below a quarter of it, events get 503 and the embedded store writes nothing. 0: no check',
  },
  INSTANCE: {
    schema: matching(/^[\w-]{0,64}$/, 'expected at most 64 letters, digits, - or _'),
    default: '',
    help: 'name of a processor, under which it owns lanes; no two on one bus may have the same. Empty: one that the launcher made for DATA_DIR, without it that of the machine',
  },
  ...BUS_SETTINGS,
  ...STORE_SETTINGS,
  LANES: {
    schema: integer(0, 32),
    default: '0',
    help: 'number of lanes of a new service, which is how many processors can work at once; later it can grow. 0: what the bus has, one for each shard of the store on a new one',
  },
  PARTITIONS: {
    schema: integer(1, 4096),
    default: '256',
    help: 'number of partitions into which devices are divided, to share them out among threads; more cost nothing',
  },
  WORKERS: {
    schema: integer(1, 64),
    default: String(workersFor(availableParallelism())),
    help: 'threads that process events',
  },
  COLLECTORS: {
    schema: integer(1, 64),
    default: String(collectorsFor(availableParallelism())),
    help: 'processes that share PORT; each takes events and answers questions. More than one need Linux',
  },
  QUERIES: {
    schema: integer(0, 64),
    default: '0',
    help: 'further processes that only answer questions, on QUERY_PORT, for a proxy that sends questions there',
  },
  QUERY_PORT: {
    schema: integer(0, 65_535),
    default: '3001',
    help: 'port of the processes that only answer questions, if there are any; 0 picks a free port',
  },
  FLUSH_INTERVAL_MS: {
    schema: integer(20, 60_000),
    default: '2000',
    help: 'longest time between two flushes; a longer one needs more memory and puts less load on the store',
  },
  FLUSH_ROWS_MAX: { schema: integer(1, 250_000), default: '100000', help: 'maximum rows per flush' },
  FLUSH_BYTES_MAX: {
    schema: integer(4096, 268_435_456),
    default: '67108864',
    help: 'maximum bytes per flush; several lanes share them',
  },
  ROLLUP_INTERVAL_MS: {
    schema: integer(100, HOUR_MS),
    default: '60000',
    help: 'how often finished hours and days are rolled up for queries over long ranges',
  },
  DELIVERY_INTERVAL_MS: {
    schema: integer(100, DAY_MS),
    default: '300000',
    help: "how often new events are delivered to customers' buckets; a longer interval makes fewer and larger files",
  },
  SEARCH_CONSOLE_INTERVAL_MS: {
    schema: integer(60_000, 604_800_000),
    default: '86400000',
    help: 'how often the newest days of connected Search Console properties are fetched; Google has new figures a few times a day',
  },
  GOOGLE_API_URL: {
    schema: matching(/^(?:https?:\/\/\S+)?$/, 'expected a URL such as http://proxy.example:8080'),
    default: '',
    help: "where Google's APIs are reached, such as a forwarding proxy; the paths are Google's. Empty: Google's own addresses",
  },
  SESSION_RETAIN_MS: {
    schema: integer(1_800_000, DAY_MS),
    default: '3600000',
    help: 'how long an inactive session stays in memory, so that late events can join it',
  },
  EVENT_IDS_MAX: {
    schema: integer(1000, 50_000_000),
    default: '2000000',
    help: 'event IDs remembered for 24 h to drop duplicates; beyond it, the site with the most loses its oldest',
  },
  LEASE_MS: {
    schema: integer(1000, 600_000),
    default: '3500',
    help: 'how long an owner that does not respond keeps a lane; an owner renews its lease after a third of this',
  },
  PUBLISH_BYTES_MAX: {
    schema: integer(4096, 8_000_000),
    default: '524288',
    help: 'maximum bytes of events in one bus message',
  },
  PUBLISH_IN_FLIGHT_BYTES_MAX: {
    schema: integer(65_536, 4_294_967_295),
    default: '67108864',
    help: 'maximum bytes waiting for the bus; above it, requests get 503',
  },
  REQUEST_WAIT_MAX_MS: {
    schema: integer(0, 60_000),
    default: '2000',
    help: 'longest wait of a tracking request until this process reads it; from half of it on, more and more get 503. 0: no limit',
  },
  PUBLISH_TIMEOUT_MS: {
    schema: integer(100, 60_000),
    default: '5000',
    help: 'longest wait for the bus; after it, requests get 503',
  },
  BUS_BYTES_MAX: {
    schema: integer(1_048_576, 1_099_511_627_776),
    default: '17179869184',
    help: 'maximum bytes that the bus stores of events, and again of entity updates, while the store is unavailable; above it, requests get 503',
  },
  FEED_BYTES_MAX: {
    schema: integer(1_048_576, 1_099_511_627_776),
    default: '1073741824',
    help: 'maximum bytes of all event feeds on the bus; the oldest events are removed first. Above 4 GiB, use an external nats-server',
  },
  FEED_AGE_MAX_S: {
    schema: integer(60, 315_360_000),
    default: '604800',
    help: 'seconds for which the bus stores an event of a feed',
  },
  SESSION_LOOKUP_TIMEOUT_MS: {
    schema: integer(10, 10_000),
    default: '2000',
    help: "longest wait for the answer of a session's owner; after it, the session ID is derived",
  },
  SESSION_CACHE_MAX: {
    schema: integer(100, 10_000_000),
    default: '200000',
    help: "maximum open sessions in a collector's cache; beyond it, the site with the most loses its oldest",
  },
  TRUSTED_PROXIES: {
    schema: anyText,
    default: '',
    help: 'comma-separated addresses or CIDR ranges of proxies whose forwarding headers are trusted; `any` trusts all',
  },
  CLIENT_IP_HEADER: {
    schema: matching(/^[\w-]{1,64}$/, 'expected the name of a header'),
    default: 'x-forwarded-for',
    help: "the one header from which a trusted proxy's word on the sender's address is read, such as `cf-connecting-ip` or `forwarded`",
  },
  TRACK_LIMIT_PER_10_S: {
    schema: integer(0, 1_000_000),
    default: '0',
    help: 'maximum tracking requests of an IP address in 10 s; 0: no limit',
  },
  GEO_DATABASE: {
    schema: anyText,
    default: '',
    help: 'geolocation database: an .mmdb file or a folder of them, reloaded when it changes. Empty: the bundled one',
  },
  GEO_IN_MEMORY: {
    schema: integer(0, 1),
    default: '0',
    help: '1: the geolocation database is held in memory: 134 MB more for each collector, some 5 µs less for each new address; for disks that are slow to read',
  },
  COLLECT_PREFIXES: {
    schema: matching(/^(?:\/[\w-]+(?:\/[\w-]+)*(?:,|$))*$/, 'expected paths such as /a/b, comma-separated'),
    default: '',
    help: 'comma-separated additional path prefixes for the tracking script and the collection endpoints',
  },
  QUERY_LIMIT_PER_10_S: {
    schema: integer(0, 1_000_000),
    default: '100',
    help: 'maximum insights and export requests of a client in 10 s; 0: no limit',
  },
  MANAGE_LIMIT_PER_10_S: {
    schema: integer(0, 1_000_000),
    default: '20',
    help: 'maximum management requests of a client in 10 s; 0: no limit',
  },
  SITES_PER_TEAM_MAX: {
    schema: integer(1, 1_000_000),
    default: '1000',
    help: 'maximum sites of a team; deleted sites count until they are purged',
  },
  CLIENTS_PER_TEAM_MAX: {
    schema: integer(1, 1_000_000),
    default: '5000',
    help: 'maximum clients of a team',
  },
  LIVE_CONNECTIONS_MAX: {
    schema: integer(0, 1_000_000),
    default: '20000',
    help: 'maximum open connections for live numbers of each process, of which one site has half at most; above it, requests get 503',
  },
  LIVE_CONNECTIONS_PER_ADDRESS_MAX: {
    schema: integer(0, 1_000_000),
    default: '100',
    help: 'the same of an IP address; above it, requests get 429. 0: no limit',
  },
  QUERY_TIME_MAX_MS: { schema: integer(100, 600_000), default: '30000', help: 'maximum run time of a query' },
  LANE_WAIT_MAX_MS: {
    schema: integer(1, 600_000),
    default: '3000',
    help: 'longest wait of a query for a lane without an owner, such as one that moves to another processor; after it, 503',
  },
  HELD_EVENTS_MAX: {
    schema: integer(0, 100_000_000),
    default: '600000',
    help: 'events that each process holds in memory to answer questions: all of small sites, recent ones of large sites; 0: none',
  },
  ANSWER_CACHE_MAX_MB: {
    schema: integer(1, 1_048_576),
    default: '128',
    help: 'maximum memory for cached parts of answers about large sites in each process, in MB',
  },
  QUERY_MEMORY_MAX_BYTES: {
    schema: integer(16_777_216, 1_099_511_627_776),
    default: '2147483648',
    help: 'maximum memory of a query in the store',
  },
  HTTP_HEAP_MAX_MB: {
    schema: integer(32, 1_048_576),
    default: '768',
    help: 'maximum heap of JavaScript objects of a collector, in MB; beyond it the process is restarted',
  },
  PROCESSOR_HEAP_MAX_MB: {
    schema: integer(32, 1_048_576),
    default: '4096',
    help: 'the same of each thread of the processor: a million sessions take some 600 MB',
  },
  STORE_HEAP_MAX_MB: {
    schema: integer(32, 1_048_576),
    default: '512',
    help: 'the same of the embedded store, beside STORE_MEMORY_MAX_BYTES',
  },
  DRAIN_WAIT_MS: {
    schema: integer(0, 60_000),
    default: '0',
    help: 'how long the HTTP service, once it is asked to stop, still takes requests while it reports that it is not ready; more than a proxy needs to notice that. 0: no wait',
  },
  METRICS_HOST: {
    schema: anyText,
    default: '127.0.0.1',
    help: 'address that the health and the metrics of a processor listen on; beyond loopback, metrics and details need OPERATIONS_TOKEN',
  },
  METRICS_PORT: {
    schema: integer(0, 65_535),
    default: '0',
    help: "port of a processor's metrics endpoint; 0 picks a free port",
  },
  HTTP_PROCESSES: {
    schema: matching(/^(?:[\w-]+=\d{1,5}(?:,|$))*$/, 'expected names and ports such as http-1=10001'),
    default: '',
    help: 'set by the launcher: the processes that answer HTTP, each with the loopback port of its own metrics',
  },
  OPERATIONS_TOKEN: {
    schema: matching(/^(?:[\w.~+/-]{16,}=*)?$/, 'expected at least 16 letters, digits or . ~ + / - _'),
    default: '',
    help: 'token that `/metrics` and the details of `/healthz/ready` need, as `Authorization: Bearer …`. Empty: the launcher generates one if strangers may reach the service; otherwise requests of this machine need none',
  },
  STORE_PORT: {
    schema: integer(0, 65_535),
    default: '0',
    help: 'port of the embedded store; 0 picks a free port',
  },
  STORE_PASSWORD: {
    schema: anyText,
    default: '',
    help: 'password of the embedded store; the launcher generates one',
  },
  STORE_QUERY_PASSWORD: {
    schema: anyText,
    default: '',
    help: 'password of the user `query` of the embedded store, which can only read; the launcher generates one at every start. Empty: no such user',
  },
  STORE_MEMORY_MAX_BYTES: {
    schema: integer(134_217_728, 1_099_511_627_776),
    default: '4294967296',
    help: 'maximum memory of the embedded store',
  },
  SECRETS_KEY: {
    schema: matching(/^(?:[0-9a-f]{64})?$/i, 'expected 64 hexadecimal digits'),
    default: '',
    help: "key of 64 hexadecimal digits that encrypts customers' secrets; all processes on one bus need the same. The launcher generates one for the built-in bus. After a change, customers must enter their secrets again",
  },
  ...BUCKET_SETTINGS,
  CRASH_POINT: {
    schema: anyText,
    default: '',
    help: 'for tests only: the process kills itself at this point',
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

/** The settings that a settings file may have. */
const { FOOTFALL_CONF: _, ...FILE_SETTINGS } = SETTINGS;

/** The defaults that `SMALL=1` changes. */
export const SMALL_DEFAULTS: Readonly<Partial<Record<SettingName, string>>> = {
  COLLECTORS: '1',
  WORKERS: '1',
  FLUSH_ROWS_MAX: '5000',
  FLUSH_BYTES_MAX: '4194304',
  EVENT_IDS_MAX: '200000',
  PUBLISH_IN_FLIGHT_BYTES_MAX: '4194304',
  BUS_BYTES_MAX: '268435456',
  FEED_BYTES_MAX: '268435456',
  SESSION_CACHE_MAX: '20000',
  LIVE_CONNECTIONS_MAX: '2000',
  HELD_EVENTS_MAX: '50000',
  ANSWER_CACHE_MAX_MB: '12',
  QUERY_MEMORY_MAX_BYTES: '67108864',
  STORE_MEMORY_MAX_BYTES: '201326592',
  HTTP_HEAP_MAX_MB: '128',
  PROCESSOR_HEAP_MAX_MB: '96',
  STORE_HEAP_MAX_MB: '64',
};

/** All settings, typed. Names end in their unit where they have one. */
export type Config = {
  readonly [Name in SettingName]: (typeof SETTINGS)[Name]['schema'] extends SettingSchema<infer Value>
    ? Value
    : never;
};

/**
 * Thrown for a setting that cannot be used. The message names the variable and can be shown to the operator as it is.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Variables = Readonly<Record<string, string | undefined>>;

/** The variables of a process, with the settings of the file among them. */
export interface GivenSettings {
  readonly env: Variables;
  /** The place of each setting that comes from the file, such as `/opt/footfall/footfall.conf, line 3`. */
  readonly places: ReadonlyMap<string, string>;
}

/** The value of `FOOTFALL_CONF` for a process that gets all settings from its environment. */
export const NO_SETTINGS_FILE = '/dev/null';

/**
 * Adds the settings of the file `FOOTFALL_CONF` to `env`, which wins. Without this variable, the file may be missing.
 * @throws {ConfigError} names the file, the line and the first setting that cannot be used
 */
export function givenSettings(env: Variables = process.env, folder: string = projectRoot): GivenSettings {
  const path = resolve(folder, env.FOOTFALL_CONF || SETTINGS.FOOTFALL_CONF.default);
  const file = readSettingsFile(path, FILE_SETTINGS);
  if (file.kind === 'problem') throw new ConfigError(file.problem);
  if (file.kind === 'missing' && env.FOOTFALL_CONF)
    throw new ConfigError(`FOOTFALL_CONF: ${path} does not exist`);
  const lines = file.kind === 'missing' ? [] : file.lines.filter(({ name }) => env[name] === undefined);
  return {
    env: { ...env, ...Object.fromEntries(lines.map(({ name, value }) => [name, value])) },
    places: new Map(lines.map(({ name, line }) => [name, `${path}, line ${line}`])),
  };
}

/**
 * Reads the settings, with `DATA_DIR` made absolute: from `env`, or else from the environment and the settings file.
 * @throws {ConfigError} names the first bad setting
 */
export function readConfig(env: Variables = givenSettings().env): Config {
  const values: Record<string, unknown> = {};
  const changed: Variables = env.SMALL === '1' ? SMALL_DEFAULTS : {};
  for (const [name, setting] of Object.entries(SETTINGS)) {
    const parsed = setting.schema(env[name] || (changed[name] ?? setting.default));
    if ('problem' in parsed) throw new ConfigError(`${name}: ${parsed.problem} (${setting.help})`);
    values[name] = parsed.value;
  }
  // The name of a machine is unique, and stays when a process is started again.
  const machine = hostname().replace(/[^\w-]/g, '-');
  values.INSTANCE ||= machine.slice(0, 64) || 'local';
  return Object.freeze({ ...values, DATA_DIR: resolve(projectRoot, String(values.DATA_DIR)) }) as Config;
}

/** Sets a variable for a native library, which reads it when it is loaded. */
export function setEnvironment(name: string, value: string): void {
  process.env[name] = value;
}
