import { afterEach, expect, test } from 'vitest';
import { createSecret } from '../../infra/accounts/client-auth.ts';
import { type Answer, Client } from '../cluster/client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { residentBytes } from '../cluster/process-cost.ts';
import { BROWSER } from '../cluster/site-of-cluster.ts';

// The memory that senders without a secret can occupy in a process serving both rooms. The heap is small, so a process retaining
// what it receives does not survive.

const TOKEN = 'a-token-of-the-operator';
const HEAP_MAX_MB = 128;
const IN_FLIGHT = 48;
/** Far less than each test sends, and more than a heap of this size takes to reach its full extent. */
const GROWTH_MAX_BYTES = 64 * 1024 ** 2;
const ID_BYTES = 256;
const ORIGIN = 'https://shop.example';
const VIEW = JSON.stringify({ type: 'track', payload: { name: 'screen_view', properties: { __path: '/' } } });

let cluster: Cluster | undefined;
let client: Client | undefined;

afterEach(async () => {
  client?.close();
  await cluster?.stop();
});

async function start(): Promise<{ cluster: Cluster; client: Client; url: string }> {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: [],
    withStore: false,
    nodeArguments: [`--max-old-space-size=${HEAP_MAX_MB}`, '--max-semi-space-size=4'],
    env: {
      LOG_LEVEL: 'warn',
      TRUSTED_PROXIES: '127.0.0.1',
      OPERATIONS_TOKEN: TOKEN,
      SESSION_LOOKUP_TIMEOUT_MS: '10',
      SESSION_CACHE_MAX: '1000',
    },
  });
  client = new Client(IN_FLIGHT);
  return { cluster, client, url: cluster.url('web') };
}

/** Used instead of a status when the process has died. */
const NO_ANSWER = 0;

/** Sends requests numbered from `from` to `to`; returns how often each status came. */
async function sendAll(
  from: number,
  to: number,
  send: (index: number) => Promise<Answer>,
): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  let next = from;
  const sendOnAndOn = async () => {
    while (next < to) {
      const index = next;
      next += 1;
      const status = await send(index).then(
        (answer) => answer.status,
        () => NO_ANSWER,
      );
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, sendOnAndOn));
  return statuses;
}

/** Checks that the process did not end, and grew by less than `GROWTH_MAX_BYTES` beyond its warm size. */
function expectNoGrowth(running: Cluster, warmBytes: number): void {
  const { running: isRunning, pid } = running.process('web');
  expect(isRunning).toBe(true);
  expect(residentBytes(pid) - warmBytes).toBeLessThan(GROWTH_MAX_BYTES);
}

/** Each in a /48 network of its own, because wrong secrets are counted for these, too. */
function addressOf(index: number): string {
  return `2001:db8:${(index & 0xffff).toString(16)}:${(index >> 16).toString(16)}::1`;
}

/** A text of `bytes` characters that is like no other. */
function longText(index: number, bytes: number): string {
  return `${index}-`.padEnd(bytes, 'x');
}

test('25,000 requests with distinct client ids of the longest length to both rooms, from as many addresses, leave nothing', async () => {
  const { cluster: running, client: sender, url } = await start();
  const secret = createSecret();
  const headersOf = (index: number) => ({
    'content-type': 'application/json',
    'service-client-id': longText(index, ID_BYTES),
    'service-client-secret': index % 3 === 0 ? longText(index, ID_BYTES) : secret,
    'x-forwarded-for': addressOf(index),
  });
  const send = (index: number) =>
    index % 2 === 0
      ? sender.exchange('POST', `${url}/track`, headersOf(index), Buffer.from(VIEW))
      : sender.exchange('GET', `${url}/insights/${index}/live`, headersOf(index), '');
  await sendAll(0, 3_000, send);
  const warmBytes = residentBytes(running.process('web').pid);
  expect(await sendAll(3_000, 28_000, send)).toEqual({ 401: 25_000 });
  expectNoGrowth(running, warmBytes);
  const remembered = async () =>
    Number(
      /^failed_login_addresses{service="query"} (\d+)$/m.exec(
        await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).text(),
      )?.[1],
    );
  expect(await remembered()).toBeGreaterThan(0);
  await expect.poll(remembered).toBe(0);
});

test('10,000 visitors with up to 50 KB of headers and 24 KB of claims leave no more than what is read of them', async () => {
  const { cluster: running, client: sender, url } = await start();
  const { write } = running.credentials.clients;
  const bytes = 12_000;
  const headersOf = (index: number) => ({
    'content-type': 'application/json',
    'service-client-id': write.id,
    ...(index % 2 === 0
      ? { 'user-agent': `${BROWSER} ${index}` }
      : {
          'user-agent': `${BROWSER} ${longText(index, bytes)}`,
          'sec-ch-ua': `"Chromium";v="126", ${longText(index, bytes)}`,
          'sec-ch-ua-platform': longText(index, bytes),
        }),
    'accept-language': `de-DE-x-${String(index).padStart(8, '0')},${longText(index, bytes)}`,
    // A longer one is rejected.
    origin: `${ORIGIN}.${longText(index, 2_000)}`,
    'x-forwarded-for': addressOf(index),
  });
  const bodyOf = (index: number) => {
    const claims = { __path: `/${index}`, __os: longText(index, bytes), __model: longText(index, bytes) };
    return Buffer.from(
      JSON.stringify({ type: 'track', payload: { name: 'screen_view', properties: claims } }),
    );
  };
  const send = (index: number) => sender.exchange('POST', `${url}/track`, headersOf(index), bodyOf(index));
  await sendAll(0, 2_000, send);
  const warmBytes = residentBytes(running.process('web').pid);
  expect(await sendAll(2_000, 12_000, send)).toEqual({ 200: 10_000 });
  expectNoGrowth(running, warmBytes);
});
