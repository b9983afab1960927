import { greetsAsNats } from './ports.mjs';
import { Problem } from './problem.mjs';

const WAIT_MS = 5_000;
const NATS_PORT = 4222;

/**
 * Throws a `Problem` unless one of the servers in NATS_URL answers as nats-server does. User and password are never
 * shown.
 * @param {string} natsUrl one URL, or several separated by commas
 * @returns {Promise<string>} host and port, for the terminal
 */
export async function checkOutsideBus(natsUrl) {
  const servers = natsUrl.split(',').map((text) => new URL(text.trim()));
  for (const { hostname, port } of servers) {
    const greeted = await greetsAsNats(hostname.replace(/^\[|\]$/g, ''), Number(port) || NATS_PORT, WAIT_MS);
    if (greeted) return hostAndPort(hostname, port || NATS_PORT);
  }
  const names = servers.map(({ hostname, port }) => hostAndPort(hostname, port || NATS_PORT)).join(', ');
  throw new Problem(
    `NATS_URL: no nats-server answers at ${names}. Start it, or unset NATS_URL to use the built-in one.`,
  );
}

/**
 * Throws a `Problem` unless the server at CLICKHOUSE_URL answers its ping.
 * @param {string} clickhouseUrl
 * @returns {Promise<string>} host and port, for the terminal
 */
export async function checkOutsideStore(clickhouseUrl) {
  const url = new URL(clickhouseUrl);
  const shown = hostAndPort(url.hostname, url.port || (url.protocol === 'https:' ? 443 : 80));
  const ping = `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, '')}/ping`;
  const isThere = await fetch(ping, { signal: AbortSignal.timeout(WAIT_MS) }).then(
    (response) => response.ok,
    () => false,
  );
  if (isThere) return shown;
  throw new Problem(
    `CLICKHOUSE_URL: no ClickHouse answers at ${shown}. Start it, or unset CLICKHOUSE_URL to use the built-in one.`,
  );
}

/**
 * @param {string} host
 * @param {string | number} port
 */
function hostAndPort(host, port) {
  return `${host}:${port}`;
}
