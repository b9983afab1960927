import { NATS_LEAST } from '../nats-version.mjs';
import { isAtLeast } from '../node-version.mjs';
import { OUTSIDE_WAIT_MS, serversIn } from '../outside.mjs';
import { natsGreeting } from '../ports.mjs';
import { listed } from '../settings.mjs';

/** @typedef {import('./examination.mjs').Finding} Finding */

const STORE_LEAST = '24.8';
/** Beyond it, "today" of the store and of the processes are not the same. */
const CLOCKS_APART_MAX_MS = 2_000;

/**
 * Every server of NATS_URL, not only the first that answers.
 * @param {string} natsUrl empty where the service runs its own
 * @param {number} replicas `BUS_REPLICAS`
 * @returns {Promise<Finding[]>}
 */
export async function examineOutsideBus(natsUrl, replicas) {
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

/**
 * @param {string} at
 * @param {Readonly<Record<string, unknown>> | undefined} greeting
 * @returns {Finding}
 */
export function serverFinding(at, greeting) {
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

/**
 * Every server of CLICKHOUSE_URL.
 * @param {string} clickhouseUrl empty where the service runs its own
 * @returns {Promise<Finding[]>}
 */
export async function examineOutsideStore(clickhouseUrl) {
  return (await Promise.all(listed(clickhouseUrl).map(examineShard))).flat();
}

/**
 * @param {string} shardUrl
 * @returns {Promise<Finding[]>}
 */
async function examineShard(shardUrl) {
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

/**
 * @param {string} at
 * @param {string} answer version and time, as text with a tab
 * @param {number} nowMs our own time when the store read its clock
 * @returns {Finding}
 */
export function storeFinding(at, answer, nowMs) {
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
