import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Launcher, startLauncher } from '../testing/launcher.ts';

// The real start program where strangers may reach the service, and where they may not: the readers of the metrics, and the pages from
// which the first site takes events.

const RUNNING = /footfall is running at (https?:\/\/\S+)/;
const LISTENING = /^ {2}http +(http:\/\/\S+)/m;
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/127.0';

let folder = '';
let dataDir = '';
let launcher: Launcher | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-exposed-'));
  dataDir = join(folder, 'data');
});

afterEach(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the service and returns where it listens. */
async function start(env: Readonly<Record<string, string>>): Promise<string> {
  launcher = startLauncher(dataDir, { NATS_URL: undefined, CLICKHOUSE_URL: undefined, ...env });
  await launcher.waitFor(RUNNING);
  await launcher.waitFor(/Press Ctrl-C to stop/);
  const [, url = ''] = await launcher.waitFor(LISTENING);
  return url.replace('0.0.0.0', '127.0.0.1');
}

async function stop(): Promise<void> {
  launcher?.signal('SIGINT');
  await launcher?.exited;
  launcher = undefined;
}

function stored(name: string) {
  return JSON.parse(readFileSync(join(dataDir, name), 'utf8'));
}

async function statusOf(url: string, authorization?: string): Promise<number> {
  const { status } = await fetch(url, { headers: authorization === undefined ? {} : { authorization } });
  return status;
}

/** Sends an event as a page of this origin does; returns the status. */
async function sendFrom(url: string, origin: string): Promise<number> {
  const answer = await fetch(`${url}/track`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': BROWSER,
      'service-client-id': stored('credentials.json').clients.write.id,
      origin,
    },
    body: JSON.stringify({ type: 'track', payload: { name: 'signup' } }),
  });
  return answer.status;
}

/** Runs a `curl` command that the start has printed, without curl. */
async function runPrinted(command: string): Promise<number> {
  const [, method = '', url = ''] = /curl -X (\w+) (\S+)/.exec(command) ?? [];
  const headers = [...command.matchAll(/-H '([^:]+): ([^']+)'/g)].map(
    ([, name = '', value = '']): [string, string] => [name, value],
  );
  const [, body = ''] = /-d '([^']+)'/.exec(command) ?? [];
  return (await fetch(url.replace('0.0.0.0', '127.0.0.1'), { method, headers, body })).status;
}

test('beyond loopback: a generated token opens the metrics, and the first site allows no origin yet', async () => {
  const url = await start({ HOST: '0.0.0.0' });
  const shown = launcher?.output() ?? '';
  const { operationsToken } = stored('secrets.json');
  expect(shown.split('\n').filter((line) => line.includes('/metrics'))).toEqual([
    `Token for /metrics and the details of /healthz/ready: operationsToken in ${join(dataDir, 'secrets.json')}`,
  ]);
  expect(shown).not.toContain(operationsToken);
  const right = `Bearer ${operationsToken}`;
  expect([
    await statusOf(`${url}/metrics`),
    await statusOf(`${url}/metrics`, 'Bearer x'),
    await statusOf(`${url}/metrics`, right),
  ]).toEqual([401, 401, 200]);
  expect(await (await fetch(`${url}/healthz/ready`)).text()).toBe('{"status":"ready"}');
  const details = await fetch(`${url}/healthz/ready`, { headers: { authorization: right } });
  expect(await details.json()).toMatchObject({
    status: 'ready',
    dependencies: [{ name: 'bus' }, { name: 'store' }],
  });

  const page = 'https://www.example.com';
  expect([await sendFrom(url, page), await sendFrom(url, 'https://a.example')]).toEqual([401, 401]);
  const [command = ''] = /curl -X PATCH(?:.*\\\n)+.*/.exec(shown) ?? [];
  expect(await runPrinted(command)).toBe(200);
  await expect.poll(() => sendFrom(url, page)).toBe(200);
  expect(await sendFrom(url, 'https://a.example')).toBe(401);

  // The next start has the same token; one that the operator sets replaces it, and is not mentioned.
  await stop();
  const own = 'the-token-of-the-operator';
  const next = await start({ HOST: '0.0.0.0', OPERATIONS_TOKEN: own });
  expect(stored('secrets.json').operationsToken).toBe(operationsToken);
  expect([
    await statusOf(`${next}/metrics`, right),
    await statusOf(`${next}/metrics`, `Bearer ${own}`),
  ]).toEqual([401, 200]);
  expect(launcher?.output()).not.toContain('Token for');
});

test('behind a proxy on this machine: closed to a loopback peer, and the first site allows the public address', async () => {
  const url = await start({ BASE_URL: 'https://stats.example/', TRUSTED_PROXIES: '127.0.0.1' });
  expect([
    await statusOf(`${url}/metrics`),
    await statusOf(`${url}/metrics`, `Bearer ${stored('secrets.json').operationsToken}`),
  ]).toEqual([401, 200]);
  expect(launcher?.output()).toContain('The site allows only https://stats.example. ');
  expect([await sendFrom(url, 'https://stats.example'), await sendFrom(url, 'https://a.example')]).toEqual([
    200, 401,
  ]);
});

test('on loopback alone: this machine reads without a token, and the first site allows every origin', async () => {
  const url = await start({});
  expect(launcher?.output()).not.toMatch(/Token for|The site allows/);
  expect([await statusOf(`${url}/metrics`), await sendFrom(url, 'https://a.example')]).toEqual([200, 200]);
  const forwarded = await fetch(`${url}/metrics`, { headers: { 'x-forwarded-for': '8.8.8.8' } });
  expect(forwarded.status).toBe(401);
});
