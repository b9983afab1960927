import { listed } from '../store/listed.ts';
import { greetsAsNats } from './ports.ts';
import { Problem } from './problem.mjs';

export const OUTSIDE_WAIT_MS = 5_000;
const NATS_PORT = 4222;

/** The servers of NATS_URL, with `shown` for messages: user and password are never shown. */
export function serversIn(natsUrl: string): ReadonlyArray<{ host: string; port: number; shown: string }> {
  return natsUrl.split(',').map((text) => {
    const { hostname, port } = new URL(text.trim());
    return {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || NATS_PORT,
      shown: hostAndPort(hostname, port || NATS_PORT),
    };
  });
}

/** Throws a `Problem` unless one of the servers in NATS_URL answers as nats-server does. Returns its host and port. */
export async function checkOutsideBus(natsUrl: string): Promise<string> {
  const servers = serversIn(natsUrl);
  for (const { host, port, shown } of servers)
    if (await greetsAsNats(host, port, OUTSIDE_WAIT_MS)) return shown;
  const names = servers.map(({ shown }) => shown).join(', ');
  throw new Problem(
    `NATS_URL: no nats-server answers at ${names}. Start it, or unset NATS_URL to use the built-in one.`,
  );
}

/**
 * Pings every server at CLICKHOUSE_URL. `all` has their hosts and ports, and `away` only the ones that do not answer.
 */
export async function askOutsideStore(
  clickhouseUrl: string,
): Promise<{ readonly all: string; readonly away: string }> {
  const shards = await Promise.all(listed(clickhouseUrl).map(askShard));
  const away = shards.filter(({ isThere }) => !isThere);
  const named = (some: typeof shards) => some.map(({ shown }) => shown).join(', ');
  return { all: named(shards), away: named(away) };
}

async function askShard(shardUrl: string) {
  const url = new URL(shardUrl);
  const shown = hostAndPort(url.hostname, url.port || (url.protocol === 'https:' ? 443 : 80));
  const ping = `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, '')}/ping`;
  const isThere = await fetch(ping, { signal: AbortSignal.timeout(OUTSIDE_WAIT_MS) }).then(
    (response) => response.ok,
    () => false,
  );
  return { shown, isThere };
}

function hostAndPort(host: string, port: string | number) {
  return `${host}:${port}`;
}
