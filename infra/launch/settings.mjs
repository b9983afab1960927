import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { Problem } from './problem.mjs';
import { projectRoot } from './root.mjs';

/** @typedef {Readonly<Record<string, string | undefined>>} Env */
/**
 * @typedef {object} LaunchSettings
 * @property {number} port 0 for a free one
 * @property {string} host
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
  PORT: '3000',
  HOST: '127.0.0.1',
  BASE_URL: '',
  TRUSTED_PROXIES: '',
  DATA_DIR: '.data',
  BUS_BYTES_MAX: '17179869184',
  NATS_URL: '',
  CLICKHOUSE_URL: '',
  STORE_PORT: '0',
  DISK_FREE_MIN_BYTES: '268435456',
};

/**
 * @param {Env} env
 * @returns {LaunchSettings}
 */
export function readLaunchSettings(env) {
  const text = (/** @type {keyof typeof LAUNCH_DEFAULTS} */ name) => env[name] || LAUNCH_DEFAULTS[name];
  return {
    port: wholeNumber('PORT', text('PORT'), 0, 65_535),
    host: text('HOST'),
    baseUrl: address('BASE_URL', text('BASE_URL')).replace(/\/+$/, ''),
    isExposed: !isLoopback(text('HOST')) || text('BASE_URL') !== '' || text('TRUSTED_PROXIES') !== '',
    dataDir: resolve(projectRoot, text('DATA_DIR')),
    busBytesMax: wholeNumber('BUS_BYTES_MAX', text('BUS_BYTES_MAX'), 1_048_576, 1_099_511_627_776),
    natsUrl: address('NATS_URL', text('NATS_URL')),
    clickhouseUrl: address('CLICKHOUSE_URL', text('CLICKHOUSE_URL')),
    storePort: wholeNumber('STORE_PORT', text('STORE_PORT'), 0, 65_535),
    diskFreeMinBytes: wholeNumber('DISK_FREE_MIN_BYTES', text('DISK_FREE_MIN_BYTES'), 0, 1_099_511_627_776),
  };
}

/**
 * As in `infra/network/exposure.ts`; a test compares the two.
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
 * The value of a bad URL is not shown, because it may contain a password.
 * @param {keyof typeof EXAMPLES} name
 * @param {string} text
 */
function address(name, text) {
  if (text === '') return text;
  const scheme = name === 'NATS_URL' ? /^(nats|tls):\/\/./ : /^https?:\/\/./;
  if (scheme.test(text) && URL.canParse(text.split(',')[0] ?? '')) return text;
  throw new Problem(`${name} is not a valid URL such as ${EXAMPLES[name]}.`);
}
