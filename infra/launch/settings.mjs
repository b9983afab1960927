import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { Problem } from './problem.mjs';
import { projectRoot } from './root.mjs';

const PROCESSES_MAX = 64;

/** @typedef {Readonly<Record<string, string | undefined>>} Env */
/**
 * @typedef {object} LaunchSettings
 * @property {number} port 0 for a free one
 * @property {string} host
 * @property {boolean} isSmall
 * @property {Readonly<Record<'http' | 'processor' | 'store', number>>} heapMaxMb
 * @property {number} collectors processes that share the port
 * @property {number} queries processes that only answer questions
 * @property {number} queryPort their port; 0 for a free one
 * @property {string} baseUrl empty without a proxy in front
 * @property {boolean} isExposed whether strangers may reach the service
 * @property {string} dataDir absolute
 * @property {number} busBytesMax of events, and again of entity updates
 * @property {string} natsUrl empty when the launcher starts the bus
 * @property {string} clickhouseUrl empty when the launcher starts the store
 * @property {number} storePort 0 for a free one
 * @property {number} diskFreeMinBytes 0: the disk is not watched
 */

/**
 * The few settings that the launcher itself needs. `infra/config.ts` cannot be loaded before packages and build exist;
 * a test checks that the defaults are equal.
 */
export const LAUNCH_DEFAULTS = {
  SMALL: '0',
  PORT: '3000',
  COLLECTORS: String(collectorsFor(availableParallelism())),
  QUERIES: '0',
  QUERY_PORT: '3001',
  HOST: '127.0.0.1',
  BASE_URL: '',
  TRUSTED_PROXIES: '',
  DATA_DIR: '.data',
  BUS_BYTES_MAX: '17179869184',
  NATS_URL: '',
  CLICKHOUSE_URL: '',
  STORE_PORT: '0',
  DISK_FREE_MIN_BYTES: '268435456',
  HTTP_HEAP_MAX_MB: '768',
  PROCESSOR_HEAP_MAX_MB: '4096',
  STORE_HEAP_MAX_MB: '512',
};

/** The defaults that `SMALL=1` changes. */
export const LAUNCH_SMALL_DEFAULTS = {
  COLLECTORS: '1',
  BUS_BYTES_MAX: '268435456',
  HTTP_HEAP_MAX_MB: '128',
  PROCESSOR_HEAP_MAX_MB: '96',
  STORE_HEAP_MAX_MB: '64',
};

/**
 * @param {Env} env
 * @returns {LaunchSettings}
 */
export function readLaunchSettings(env) {
  const isSmall = env.SMALL === '1';
  /** @type {Readonly<Record<string, string>>} */
  const defaults = isSmall ? { ...LAUNCH_DEFAULTS, ...LAUNCH_SMALL_DEFAULTS } : LAUNCH_DEFAULTS;
  const text = (/** @type {keyof typeof LAUNCH_DEFAULTS} */ name) => env[name] || (defaults[name] ?? '');
  const heap = (/** @type {'HTTP_HEAP_MAX_MB' | 'PROCESSOR_HEAP_MAX_MB' | 'STORE_HEAP_MAX_MB'} */ name) =>
    wholeNumber(name, text(name), 32, 1_048_576);
  wholeNumber('SMALL', text('SMALL'), 0, 1);
  const natsUrl = address('NATS_URL', text('NATS_URL'));
  if (natsUrl !== '' && !env.SECRETS_KEY)
    throw new Problem(
      'SECRETS_KEY is needed beside NATS_URL, since every process on that bus must have the same. Set it to 64 hexadecimal digits, such as `openssl rand -hex 32` prints.',
    );
  return {
    isSmall,
    heapMaxMb: {
      http: heap('HTTP_HEAP_MAX_MB'),
      processor: heap('PROCESSOR_HEAP_MAX_MB'),
      store: heap('STORE_HEAP_MAX_MB'),
    },
    port: wholeNumber('PORT', text('PORT'), 0, 65_535),
    collectors: collectorsOf(text('COLLECTORS'), process.platform),
    queries: wholeNumber('QUERIES', text('QUERIES'), 0, PROCESSES_MAX),
    queryPort: wholeNumber('QUERY_PORT', text('QUERY_PORT'), 0, 65_535),
    host: text('HOST'),
    baseUrl: address('BASE_URL', text('BASE_URL')).replace(/\/+$/, ''),
    isExposed: !isLoopback(text('HOST')) || text('BASE_URL') !== '' || text('TRUSTED_PROXIES') !== '',
    dataDir: resolve(projectRoot, text('DATA_DIR')),
    busBytesMax: wholeNumber('BUS_BYTES_MAX', text('BUS_BYTES_MAX'), 1_048_576, 1_099_511_627_776),
    natsUrl,
    clickhouseUrl: address('CLICKHOUSE_URL', text('CLICKHOUSE_URL')),
    storePort: wholeNumber('STORE_PORT', text('STORE_PORT'), 0, 65_535),
    diskFreeMinBytes: wholeNumber('DISK_FREE_MIN_BYTES', text('DISK_FREE_MIN_BYTES'), 0, 1_099_511_627_776),
  };
}

/**
 * The same as in `infra/config.ts`; a test compares the two.
 * @param {number} cores
 */
export function collectorsFor(cores) {
  return process.platform === 'linux' ? Math.max(1, Math.round((cores * 3) / 8)) : 1;
}

/**
 * Only Linux spreads the connections to a port over the processes that listen on it.
 * @param {string} text
 * @param {NodeJS.Platform} platform
 */
export function collectorsOf(text, platform) {
  const collectors = wholeNumber('COLLECTORS', text, 1, PROCESSES_MAX);
  if (collectors === 1 || platform === 'linux') return collectors;
  throw new Problem(
    `COLLECTORS is ${collectors}, but several processes can share a port only on Linux. Set it to 1.`,
  );
}

/**
 * The same as in `infra/network/exposure.ts`; a test compares the two.
 * @param {string} host
 */
function isLoopback(host) {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}

/**
 * @param {string} name
 * @param {string} text
 * @param {number} min
 * @param {number} max
 */
function wholeNumber(name, text, min, max) {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new Problem(`${name} is "${text}", but must be a whole number from ${min} to ${max}.`);
}

const EXAMPLES = {
  BASE_URL: 'https://analytics.example.com',
  NATS_URL: 'nats://user:password@host:4222',
  CLICKHOUSE_URL: 'http://user:password@host:8123',
};

/**
 * The parts of a list with commas, as in `infra/store/store-shards.ts`.
 * @param {string} text
 */
export function listed(text) {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/**
 * The value of a bad URL is not shown, because it may contain a password.
 * @param {keyof typeof EXAMPLES} name
 * @param {string} text
 */
function address(name, text) {
  if (text === '') return text;
  const scheme = name === 'NATS_URL' ? /^(nats|tls):\/\/./ : /^https?:\/\/./;
  const urls = name === 'CLICKHOUSE_URL' ? listed(text) : [text.split(',')[0] ?? ''];
  if (scheme.test(text) && urls.every((url) => scheme.test(url) && URL.canParse(url))) return text;
  throw new Problem(`${name} is not a valid URL such as ${EXAMPLES[name]}.`);
}
