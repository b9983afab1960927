import { greetsAsNats } from './ports.mjs';
import { Problem } from './problem.mjs';
import { listed } from './settings.mjs';

export const OUTSIDE_WAIT_MS = 5_000;
const NATS_PORT = 4222;

/**
 * The servers of NATS_URL, with `shown` for messages: user and password are never shown.
 * @param {string} natsUrl one URL, or several separated by commas
 */
export function serversIn(natsUrl) {
  return natsUrl.split(',').map((text) => {
    const { hostname, port } = new URL(text.trim());
    return {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || NATS_PORT,
      shown: hostAndPort(hostname, port || NATS_PORT),
    };
  });
}

/**
 * Throws a `Problem` unless one of the servers in NATS_URL answers as nats-server does.
 * @param {string} natsUrl one URL, or several separated by commas
 * @returns {Promise<string>} host and port, for the terminal
 */
export async function checkOutsideBus(natsUrl) {
  const servers = serversIn(natsUrl);
  for (const { host, port, shown } of servers)
    if (await greetsAsNats(host, port, OUTSIDE_WAIT_MS)) return shown;
  const names = servers.map(({ shown }) => shown).join(', ');
  throw new Problem(
    `NATS_URL: no nats-server answers at ${names}. Start it, or unset NATS_URL to use the built-in one.`,
  );
}

/**
 * Pings every server at CLICKHOUSE_URL. `all` names the servers, and `away` the ones that do not answer, for the terminal.
 * @param {string} clickhouseUrl one URL, or the shards' URLs separated by commas
 * @returns {Promise<{ readonly all: string, readonly away: string }>} hosts and ports; `away` is empty when all answer
 */
export async function askOutsideStore(clickhouseUrl) {
  const shards = await Promise.all(listed(clickhouseUrl).map(askShard));
  const away = shards.filter(({ isThere }) => !isThere);
  const named = (/** @type {typeof shards} */ some) => some.map(({ shown }) => shown).join(', ');
  return { all: named(shards), away: named(away) };
}

/** @param {string} shardUrl */
async function askShard(shardUrl) {
  const url = new URL(shardUrl);
  const shown = hostAndPort(url.hostname, url.port || (url.protocol === 'https:' ? 443 : 80));
  const ping = `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, '')}/ping`;
  const isThere = await fetch(ping, { signal: AbortSignal.timeout(OUTSIDE_WAIT_MS) }).then(
    (response) => response.ok,
    () => false,
  );
  return { shown, isThere };
}

/**
 * @param {string} host
 * @param {string | number} port
 */
function hostAndPort(host, port) {
  return `${host}:${port}`;
}
