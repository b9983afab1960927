import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';
import { projectRoot } from './root.ts';

/**
 * Every setting of every process: its default, its bounds, and one line on when to change it. This table is the only
 * reader of the environment; `infra/README.md` lists it, and a test holds the two equal.
 */
export const SETTINGS = {
  PORT: { schema: integer(0, 65_535), default: '3000', help: 'port of the HTTP service; 0 takes a free one' },
  HOST: {
    schema: z.string().min(1),
    default: '127.0.0.1',
    help: 'address to listen on; 0.0.0.0 for every one',
  },
  BASE_URL: {
    schema: z.string(),
    default: '',
    help: 'public address of the service, when a proxy stands in front',
  },
  DATA_DIR: { schema: z.string().min(1), default: '.data', help: 'folder of bus, store and credentials' },
  LOG_LEVEL: {
    schema: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    default: 'info',
    help: 'least level that is logged',
  },
  INSTANCE: {
    schema: z.string().regex(/^[\w-]{1,64}$/),
    default: 'local',
    help: 'name of this process among its like',
  },
  NATS_URL: {
    schema: z.string(),
    default: '',
    help: 'an outside bus; user and password may stand in the address',
  },
  CLICKHOUSE_URL: {
    schema: z.string(),
    default: '',
    help: 'an outside store; user and password may stand in it',
  },
  CLICKHOUSE_DATABASE: {
    schema: z.string().regex(/^\w{1,64}$/),
    default: 'footfall',
    help: 'database of all tables',
  },
  PARTITIONS: { schema: integer(1, 64), default: '8', help: 'slices of devices; fixed once data exists' },
  WORKERS: {
    schema: integer(1, 64),
    default: String(Math.min(4, availableParallelism())),
    help: 'threads that fold events',
  },
  FLUSH_INTERVAL_MS: {
    schema: integer(20, 60_000),
    default: '2000',
    help: 'longest time between two flushes; longer costs memory and saves the store work',
  },
  FLUSH_ROWS_MAX: { schema: integer(1, 250_000), default: '50000', help: 'rows of a flush at the most' },
  FLUSH_BYTES_MAX: {
    schema: integer(4096, 268_435_456),
    default: '33554432',
    help: 'bytes of a flush at the most',
  },
  ROLLUP_INTERVAL_MS: {
    schema: integer(100, 3_600_000),
    default: '60000',
    help: 'how often hours and days that are over are summed up for questions about long times',
  },
  DELIVERY_INTERVAL_MS: {
    schema: integer(100, 86_400_000),
    default: '300000',
    help: "how often new events are brought to customers' buckets; longer makes fewer and larger files",
  },
  SESSION_RETAIN_MS: {
    schema: integer(1_800_000, 86_400_000),
    default: '3600000',
    help: 'how long a silent session stays in memory to be joined by late events',
  },
  EVENT_IDS_MAX: {
    schema: integer(1000, 50_000_000),
    default: '2000000',
    help: 'event ids remembered per partition for 24 h; the oldest go first',
  },
  LEASE_MS: {
    schema: integer(1000, 600_000),
    default: '15000',
    help: 'how long a silent owner keeps a partition',
  },
  PUBLISH_BYTES_MAX: {
    schema: integer(4096, 8_000_000),
    default: '524288',
    help: 'size of one bus message of grouped events',
  },
  PUBLISH_IN_FLIGHT_BYTES_MAX: {
    schema: integer(65_536, 4_294_967_295),
    default: '67108864',
    help: 'bytes waiting for the bus; above it, 503',
  },
  PUBLISH_TIMEOUT_MS: {
    schema: integer(100, 60_000),
    default: '5000',
    help: 'longest wait for the bus; then 503',
  },
  BUS_BYTES_MAX: {
    schema: integer(1_048_576, 1_099_511_627_776),
    default: '2147483648',
    help: "bytes the bus keeps of a partition's events, and of its records, while the store is away; above it, 503",
  },
  FEED_BYTES_MAX: {
    schema: integer(1_048_576, 1_099_511_627_776),
    default: '1073741824',
    help: 'bytes the bus keeps of the events of sites with a feed; the oldest go first. Above 4 GiB, with a bus of your own',
  },
  FEED_AGE_MAX_S: {
    schema: integer(60, 315_360_000),
    default: '604800',
    help: 'seconds the bus keeps an event of a feed',
  },
  SESSION_LOOKUP_TIMEOUT_MS: {
    schema: integer(10, 10_000),
    default: '2000',
    help: 'longest wait for the owner of a session; then its id is derived',
  },
  SESSION_CACHE_MAX: {
    schema: integer(100, 10_000_000),
    default: '200000',
    help: 'open sessions kept by a collector',
  },
  TRUSTED_PROXIES: {
    schema: z.string(),
    default: '',
    help: 'addresses or CIDR ranges, comma-separated, whose forwarding headers are believed; `any` for all',
  },
  TRACK_LIMIT_PER_10_S: {
    schema: integer(0, 1_000_000),
    default: '0',
    help: 'requests an address may send; 0: no limit',
  },
  GEO_DATABASE: {
    schema: z.string(),
    default: '',
    help: 'an .mmdb file, or a folder of such, with the places of addresses; it is read again when it changes. Empty: the bundled one',
  },
  COLLECT_PREFIXES: {
    schema: z
      .string()
      .regex(/^(?:\/[\w-]+(?:\/[\w-]+)*(?:,|$))*$/, 'expected paths such as /a/b, comma-separated'),
    default: '',
    help: 'further paths, comma-separated, below which the script and the collection endpoints answer too',
  },
  QUERY_LIMIT_PER_10_S: {
    schema: integer(0, 1_000_000),
    default: '100',
    help: 'questions of insights and exports that a client may ask; 0: no limit',
  },
  MANAGE_LIMIT_PER_10_S: {
    schema: integer(0, 1_000_000),
    default: '20',
    help: 'requests of a client that may manage; 0: no limit',
  },
  QUERY_TIME_MAX_MS: { schema: integer(100, 600_000), default: '30000', help: 'longest run of one question' },
  QUERY_MEMORY_MAX_BYTES: {
    schema: integer(16_777_216, 1_099_511_627_776),
    default: '2147483648',
    help: 'memory of one question in the store',
  },
  METRICS_PORT: {
    schema: integer(0, 65_535),
    default: '0',
    help: 'port on which a processor shows its metrics; 0 takes a free one',
  },
  STORE_PORT: {
    schema: integer(0, 65_535),
    default: '0',
    help: 'port of the embedded store; 0 takes a free one',
  },
  STORE_PASSWORD: {
    schema: z.string(),
    default: '',
    help: 'password of the embedded store; the launcher makes one',
  },
  STORE_MEMORY_MAX_BYTES: {
    schema: integer(268_435_456, 1_099_511_627_776),
    default: '4294967296',
    help: 'memory of the embedded store',
  },
  SECRETS_KEY: {
    schema: z.string().regex(/^(?:[0-9a-f]{64})?$/i, 'expected 64 hexadecimal digits'),
    default: '',
    help: 'key of 64 hexadecimal digits for the secrets that people leave here; the launcher makes one. With another one they have to be given again',
  },
  ENDPOINTS_ALLOWED: {
    schema: z.string(),
    default: '',
    help: 'addresses or CIDR ranges, comma-separated, to which connections on behalf of customers may go besides the public ones; `none` for those alone that are listed, `any` for all',
  },
  CRASH_POINT: { schema: z.string(), default: '', help: 'for tests: die at this point' },
} as const satisfies Record<string, { schema: z.ZodType; default: string; help: string }>;

export type SettingName = keyof typeof SETTINGS;

/** All settings, typed. Names end in their unit where they have one. */
export type Config = { readonly [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> };

/** Thrown for a setting that cannot be used; the message names the variable and is fit to be shown as it is. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads the settings from `env`; throws a `ConfigError` that names the first bad one. `DATA_DIR` becomes absolute. */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): Config {
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(SETTINGS)) {
    const text = env[name];
    const parsed = setting.schema.safeParse(text === undefined || text === '' ? setting.default : text);
    if (!parsed.success) {
      throw new ConfigError(`${name}: ${parsed.error.issues[0]?.message ?? 'invalid'} (${setting.help})`);
    }
    values[name] = parsed.data;
  }
  values.DATA_DIR = resolve(projectRoot, String(values.DATA_DIR));
  return Object.freeze(values) as Config;
}

function integer(min: number, max: number) {
  return z
    .string()
    .regex(/^\d+$/, 'expected a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `expected a whole number from ${min} to ${max}`);
}
