import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client';

const CONNECTIONS_MAX = 32;
// Shorter than the time after which either end closes idle connections: ClickHouse 10 s, the embedded store 30 s.
const IDLE_SOCKET_MS = 5000;

/** The address of a store. */
export interface StoreAddress {
  /** May contain user and password. */
  readonly url: string;
  readonly database: string;
  readonly requestTimeoutMs: number;
}

/** The official client, as footfall configures it. */
export function connect({ url, database, requestTimeoutMs }: StoreAddress): ClickHouseClient {
  const { address, username, password } = parts(url);
  return createClient({
    url: address,
    username,
    password,
    database,
    application: 'footfall',
    request_timeout: requestTimeoutMs,
    max_open_connections: CONNECTIONS_MAX,
    keep_alive: { enabled: true, idle_socket_ttl: IDLE_SOCKET_MS },
    use_multipart_params_auto: true,
    log: { level: ClickHouseLogLevel.OFF },
  });
}

function parts(url: string) {
  const parsed = new URL(url);
  const username = decodeURIComponent(parsed.username) || 'default';
  const password = decodeURIComponent(parsed.password);
  parsed.username = '';
  parsed.password = '';
  return { address: parsed, username, password };
}
