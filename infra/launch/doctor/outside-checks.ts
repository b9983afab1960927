import { listed } from '../../store/listed.ts';
import { NATS_LEAST } from '../nats-version.ts';
import { isAtLeast } from '../node-version.mjs';
import { OUTSIDE_WAIT_MS, serversIn } from '../outside.ts';
import { natsGreeting } from '../ports.ts';
import type { Finding } from './findings.mjs';

const STORE_LEAST = '24.8';
/** Beyond it, "today" of the store and of the processes are not the same. */
const CLOCKS_APART_MAX_MS = 2_000;

/** Every server of NATS_URL, not only the first that answers. */
export async function examineOutsideBus(natsUrl: string, replicas: number): Promise<Finding[]> {
  if (natsUrl === '') return [];
  const servers = serversIn(natsUrl);
  const findings = await Promise.all(
    servers.map(async ({ host, port, shown }) =>
      serverFinding(shown, await natsGreeting(host, port, OUTSIDE_WAIT_MS)),
    ),
  );
  if (servers.length < replicas)
    findings.push({
      name: 'bus',
      state: 'advice',
      text: `BUS_REPLICAS is ${replicas} and NATS_URL names ${servers.length}. Name every server, so that one of them is found when others are away.`,
    });
  return findings;
}

export function serverFinding(at: string, greeting: Readonly<Record<string, unknown>> | undefined): Finding {
  const name = 'bus';
  if (greeting === undefined)
    return {
      name,
      state: 'problem',
      text: `no nats-server answers at ${at}. Start it, or take it out of NATS_URL.`,
    };
  const { version, jetstream } = greeting;
  const text = `nats-server ${version} at ${at}`;
  if (typeof version !== 'string' || !isAtLeast(version, NATS_LEAST))
    return { name, state: 'problem', text: `${text} is too old. ${NATS_LEAST} or newer is needed.` };
  if (jetstream !== true)
    return {
      name,
      state: 'problem',
      text: `${text} has no JetStream. Start it with jetstream { } in its settings.`,
    };
  return { name, state: 'good', text };
}

/** Every server of CLICKHOUSE_URL. */
export async function examineOutsideStore(clickhouseUrl: string): Promise<Finding[]> {
  return (await Promise.all(listed(clickhouseUrl).map(examineShard))).flat();
}

async function examineShard(shardUrl: string): Promise<Finding[]> {
  const { protocol, host, pathname, username, password } = new URL(shardUrl);
  const url = `${protocol}//${host}${pathname}`;
  const query = encodeURIComponent('SELECT version(), toUnixTimestamp64Milli(now64(3)) FORMAT TSV');
  const sentAtMs = Date.now();
  try {
    const response = await fetch(`${url.replace(/\/$/, '')}/?query=${query}`, {
      headers: {
        'x-clickhouse-user': decodeURIComponent(username) || 'default',
        'x-clickhouse-key': decodeURIComponent(password),
      },
      signal: AbortSignal.timeout(OUTSIDE_WAIT_MS),
    });
    const text = await response.text();
    if (response.ok) return [storeFinding(host, text, (sentAtMs + Date.now()) / 2)];
    const why =
      response.status === 401 || response.status === 403
        ? 'refuses the user or the password'
        : `answers ${response.status}`;
    return [{ name: 'store', state: 'problem', text: `ClickHouse at ${host} ${why}. See CLICKHOUSE_URL.` }];
  } catch {
    return [
      {
        name: 'store',
        state: 'problem',
        text: `no ClickHouse answers at ${host}. Start it, or unset CLICKHOUSE_URL.`,
      },
    ];
  }
}

/** `answer`: version and time, as text with a tab. `nowMs`: our own time when the store read its clock. */
export function storeFinding(at: string, answer: string, nowMs: number): Finding {
  const [version = '', timeMs = ''] = answer.trim().split('\t');
  const name = 'store';
  const text = `ClickHouse ${version} at ${at}`;
  if (!isAtLeast(version, STORE_LEAST))
    return { name, state: 'problem', text: `${text} is too old. ${STORE_LEAST} or newer is needed.` };
  const apartMs = Math.abs(Number(timeMs) - nowMs);
  if (!(apartMs <= CLOCKS_APART_MAX_MS))
    return {
      name,
      state: 'problem',
      text: `${text} has a clock ${(apartMs / 1_000).toFixed(1)} s apart from this machine's. Let both follow a time server.`,
    };
  return { name, state: 'good', text };
}
