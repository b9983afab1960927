import { readFileSync } from 'node:fs';
import { type Authenticator, type ConnectionOptions, credsAuthenticator, nkeyAuthenticator } from 'nats';
import { type Config, ConfigError } from '../config.ts';
import type { Metrics } from '../metrics.ts';

const DEFAULT_PORT = '4222';
const EXAMPLE = 'a URL such as nats://127.0.0.1:4222, or several separated by commas';

/** The files that prove who the two ends of a connection are; empty: none. */
export type BusFiles = Pick<
  Config,
  'NATS_CA_FILE' | 'NATS_CERT_FILE' | 'NATS_KEY_FILE' | 'NATS_CREDENTIALS_FILE'
>;

/** The address of the bus, and our name there. */
export interface BusOptions {
  /** One URL, or the URLs of a cluster's servers, separated by commas. May contain user and password. */
  readonly url: string;
  readonly name: string;
  /** Counts faults of requests, records and streams; without it the counters are not exposed. */
  readonly metrics?: Metrics;
  /** Number of servers that store every stream and bucket; 1 when absent. */
  readonly replicas?: number;
  readonly files?: BusFiles;
}

/** The bus from the settings; `url` replaces `NATS_URL`. */
export function configuredBus(
  config: BusFiles & Pick<Config, 'NATS_URL' | 'BUS_REPLICAS'>,
  { name, metrics, url = config.NATS_URL }: Pick<BusOptions, 'name' | 'metrics'> & { readonly url?: string },
): BusOptions {
  return {
    url,
    name,
    replicas: config.BUS_REPLICAS,
    files: config,
    ...(metrics === undefined ? {} : { metrics }),
  };
}

/** Host and port of each server, without user and password: for people. @throws {ConfigError} */
export function shownServers(url: string): string {
  return urlsOf(url).map(addressOf).join(', ');
}

/** The names or addresses of the servers. @throws {ConfigError} */
export function busHosts(url: string): readonly string[] {
  return urlsOf(url).map(({ hostname }) => hostname);
}

/**
 * Connection options: the servers, and the user to connect as. With `tls://` nothing is sent before the server has proven who it is.
 * @throws {ConfigError} for URLs or files that cannot be used
 */
export function connectionOptions({
  url,
  files,
}: Pick<BusOptions, 'url' | 'files'>): Pick<
  ConnectionOptions,
  'servers' | 'user' | 'pass' | 'token' | 'tls' | 'authenticator' | 'ignoreClusterUpdates' | 'inboxPrefix'
> {
  const urls = urlsOf(url);
  const isSecure = urls.some(({ protocol }) => protocol === 'tls:');
  if (isSecure && urls.some(({ protocol }) => protocol !== 'tls:'))
    throw new ConfigError('NATS_URL: expected tls:// for all servers or for none');
  return {
    servers: urls.map(addressOf),
    ...loginOf(urls),
    ...(isSecure ? { tls: certificatesOf(files) } : {}),
    ...credentialsOf(files),
    // A single address may be a proxy in front of the servers, whose own addresses need not be reachable from here.
    ignoreClusterUpdates: urls.length === 1,
  };
}

function urlsOf(text: string): readonly URL[] {
  const urls = text.split(',').map((part) => part.trim());
  const parsed = urls.map((one) =>
    /^(?:nats|tls):\/\/./.test(one) && URL.canParse(one) ? new URL(one) : undefined,
  );
  return parsed.map((one) => {
    // The text is not shown, because it may contain a password.
    if (one === undefined || one.hostname === '') throw new ConfigError(`NATS_URL: expected ${EXAMPLE}`);
    return one;
  });
}

function addressOf({ hostname, port }: URL): string {
  return `${hostname}:${port === '' ? DEFAULT_PORT : port}`;
}

/**
 * A user with a password, or a token in the place of the user. All servers of a cluster know the same. Answers to a user arrive
 * below `_INBOX.<user>`, so that the server can let each user read only its own.
 */
function loginOf(urls: readonly URL[]): Pick<ConnectionOptions, 'user' | 'pass' | 'token' | 'inboxPrefix'> {
  const logins = urls.filter(({ username }) => username !== '');
  const [login] = logins;
  if (login === undefined) return {};
  if (logins.some(({ username, password }) => username !== login.username || password !== login.password))
    throw new ConfigError('NATS_URL: expected the same user and password for all servers');
  const user = decodeURIComponent(login.username);
  if (login.password === '') return { token: user };
  const inboxPrefix = `_INBOX.${user.replaceAll(/[^\w-]/g, '_')}`;
  return { user, pass: decodeURIComponent(login.password), inboxPrefix };
}

function certificatesOf(files: BusFiles | undefined): NonNullable<ConnectionOptions['tls']> {
  const { NATS_CA_FILE: ca = '', NATS_CERT_FILE: cert = '', NATS_KEY_FILE: key = '' } = files ?? {};
  if ((cert === '') !== (key === ''))
    throw new ConfigError(`${cert === '' ? 'NATS_CERT_FILE' : 'NATS_KEY_FILE'}: needed beside the other one`);
  return {
    ...(ca === '' ? {} : { ca: textOf('NATS_CA_FILE', ca) }),
    ...(cert === '' ? {} : { cert: textOf('NATS_CERT_FILE', cert), key: textOf('NATS_KEY_FILE', key) }),
  };
}

/** The file is one from `nsc`, or contains only a seed, which begins with `SU`. */
function credentialsOf(files: BusFiles | undefined): { readonly authenticator?: Authenticator } {
  const file = files?.NATS_CREDENTIALS_FILE ?? '';
  if (file === '') return {};
  const text = textOf('NATS_CREDENTIALS_FILE', file);
  const bytes = new TextEncoder().encode(text);
  const isSeed = /^SU[A-Z2-7]{56}\s*$/.test(text);
  return {
    authenticator: isSeed
      ? nkeyAuthenticator(new TextEncoder().encode(text.trim()))
      : credsAuthenticator(bytes),
  };
}

function textOf(setting: keyof BusFiles, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const problem = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new ConfigError(`${setting}: ${file} cannot be read (${problem})`);
  }
}
