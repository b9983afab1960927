import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { must } from '../../infra/assert.ts';
import { ensureNatsServer } from '../../infra/launch/nats-server.ts';
import { freePorts, greetsAsNats } from '../../infra/launch/ports.ts';
import { projectRoot } from '../../infra/root.ts';
import { untilFormed } from '../../infra/testing/formed-cluster.ts';
import { type Launcher, startLauncher } from '../../infra/testing/launcher.ts';
import { type StoreServer, startStoreServer } from '../../infra/testing/store-server.ts';
import { killFamily, OwnProcess } from '../cluster/child-process.ts';
import { Client, type Credentials } from '../cluster/client.ts';
import { readCredentials } from '../cluster/cluster.ts';
import { codeBlock, INFRA_README } from './readme.ts';

// The steps to three machines, with the files that the README shows, all on loopback: other ports and folders in the place of names.

const HOST = '127.0.0.1';
const NAMES = ['machine-1', 'machine-2', 'machine-3'] as const;
type Name = (typeof NAMES)[number];
const STORE_PASSWORD = 'password-of-the-store';
const STARTED = /Press Ctrl-C to stop/;
/** The bus elects new leaders in its own time; see infra/README.md. */
const SLOW = { timeout: 150_000, interval: 200 };
const answered = z.object({ sessionId: z.string() });
const ready = z.object({ url: z.string() });
const counts = z.array(z.object({ name: z.string(), count: z.number() }));

interface Ports {
  readonly bus: number;
  readonly route: number;
}

let folder = '';
let store: StoreServer;
let client: Client;
let credentials: Credentials;
const portsOf = new Map<Name, Ports>();
const buses = new Map<Name, OwnProcess>();
const launchers = new Map<Name, Launcher>();
/** Events that were acknowledged. */
let accepted = 0;

const portOf = (name: string, kind: keyof Ports) => portsOf.get(name as Name)?.[kind] ?? 0;

/** A file of the README as it would be on a machine, with addresses of this one. */
function onLoopback(text: string, name: Name): string {
  return text
    .replace('server_name: machine-1', `server_name: ${name}`)
    .replace('0.0.0.0:4222', `${HOST}:${portOf(name, 'bus')}`)
    .replace('0.0.0.0:6222', `${HOST}:${portOf(name, 'route')}`)
    .replaceAll(/(machine-\d):4222/g, (_, other) => `${HOST}:${portOf(other, 'bus')}`)
    .replaceAll(/(machine-\d):6222/g, (_, other) => `${HOST}:${portOf(other, 'route')}`)
    .replace('store:8123', new URL(store.url).host)
    .replace('http://footfall:', 'http://default:')
    .replace('HOST=0.0.0.0', `HOST=${HOST}`)
    .replace('PORT=3000', 'PORT=0')
    .replace('/var/lib/footfall/bus', join(folder, name, 'bus'));
}

function settingsOf(name: Name): Record<string, string> {
  const text = onLoopback(codeBlock('settings', 'NATS_URL', INFRA_README), name);
  const lines = text.trim().split('\n');
  const settings = Object.fromEntries(
    lines.map((line) => [line.split('=', 1)[0], line.replace(/^\w+=/, '')]),
  );
  // Everyone knows a key printed in a README, so the service must refuse the printed text.
  expect(settings.SECRETS_KEY).not.toMatch(/^[0-9a-f]{64}$/);
  return { ...settings, SECRETS_KEY: 'ab'.repeat(32) };
}

async function start(name: Name): Promise<Launcher> {
  const launcher = startLauncher(join(folder, name, 'data'), settingsOf(name));
  launchers.set(name, launcher);
  await launcher.waitFor(STARTED);
  return launcher;
}

/** The address of a machine, from its process's ready line; another test may have taken a port that was chosen earlier. */
function urlOf(name: Name): string {
  const log = readFileSync(join(folder, name, 'data/logs/http.log'), 'utf8');
  const said = [...log.matchAll(/^ready (\{.*\})$/gm)].at(-1)?.[1];
  return ready.parse(JSON.parse(must(said, 'it was ready'))).url;
}

const statusOf = (name: Name) =>
  fetch(`${urlOf(name)}/healthz/ready`).then(
    ({ status }) => status,
    () => 0,
  );

/** Sends a view until it is acknowledged, as a client does; the repeats have the same id. Returns the session. */
async function view(name: Name, device: string): Promise<string> {
  const properties = { __path: 'https://shop.example/', __deviceId: device };
  const body = JSON.stringify({ type: 'track', payload: { name: 'screen_view', properties } });
  const headers = { 'idempotency-key': randomBytes(12).toString('hex') };
  for (;;) {
    const answer = await client
      .post(`${urlOf(name)}/track`, credentials.clients.write, headers, body)
      .catch(() => undefined);
    if (answer?.status === 200) {
      accepted += 1;
      return answered.parse(answer.body).sessionId;
    }
    // Anything else would be an error for good.
    expect([undefined, 503]).toContain(answer?.status);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const asked = async (name: Name, path: string) =>
  (await client.get(`${urlOf(name)}/insights/${credentials.projectId}/${path}`, credentials.clients.read))
    .body;

const viewsAt = async (name: Name) => {
  const all = counts.safeParse(await asked(name, 'events/names')).data;
  return all?.find((each) => each.name === 'screen_view')?.count;
};

async function agree(names: readonly Name[]): Promise<void> {
  for (const name of names) await expect.poll(() => viewsAt(name), SLOW).toBe(accepted);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-machines-'));
  client = new Client(4);
  const ports = await freePorts(HOST, 2 * NAMES.length);
  for (const [index, name] of NAMES.entries()) {
    const [bus = 0, route = 0] = ports.slice(2 * index);
    portsOf.set(name, { bus, route });
    mkdirSync(join(folder, name, 'bus'), { recursive: true });
  }
  mkdirSync(join(folder, 'store'));
  store = await startStoreServer({ dataDir: join(folder, 'store'), password: STORE_PASSWORD });
});

afterAll(async () => {
  for (const launcher of launchers.values()) launcher.signal('SIGTERM');
  await Promise.all([...launchers.values()].map(({ exited }) => exited));
  for (const bus of buses.values()) await bus.stop();
  await store?.stop();
  client?.close();
  rmSync(folder, { recursive: true, force: true });
});

test('the bus of three machines', async () => {
  const server = await ensureNatsServer({ ...process.env, NATS_URL: '' });
  for (const name of NAMES) {
    const path = join(folder, name, 'nats.conf');
    writeFileSync(path, onLoopback(codeBlock('nats', 'server_name', INFRA_README), name));
    const logPath = join(folder, name, 'bus.log');
    const isReady = () => greetsAsNats(HOST, portOf(name, 'bus'), 500);
    buses.set(
      name,
      new OwnProcess({ name, command: server.path, args: ['-c', path], env: {}, logPath, isReady }),
    );
  }
  await Promise.all([...buses.values()].map((bus) => bus.start()));
  await untilFormed(settingsOf('machine-1').NATS_URL ?? '', [...buses.values()]);
});

test('footfall starts on the first machine, then on the others, and each is ready', async () => {
  const [first, ...others] = NAMES;
  const { output } = await start(first);
  credentials = readCredentials(join(folder, first, 'data'));
  expect(output()).toContain('#sign-in=');
  for (const { output: later } of await Promise.all(others.map(start)))
    expect(later()).not.toContain('#sign-in=');
  for (const name of NAMES) await expect.poll(() => statusOf(name), SLOW).toBe(200);
});

test('a visitor is one wherever a request goes, and every machine answers for all', async () => {
  const sessions = new Set<string>();
  for (const name of [...NAMES, ...NAMES]) sessions.add(await view(name, 'one-device'));
  expect(sessions.size).toBe(1);
  for (const name of NAMES) await view(name, `device-of-${name}`);
  for (const name of NAMES) await expect.poll(() => asked(name, 'live'), SLOW).toEqual({ visitors: 4 });
  await agree(NAMES);
});

test('the doctor finds nothing to change on any of them', async () => {
  const doctor = join(projectRoot, 'infra/launch/doctor/doctor.mjs');
  for (const name of NAMES) {
    const env = { ...process.env, ...settingsOf(name), DATA_DIR: join(folder, name, 'data') };
    // It rejects with everything that the doctor said when that exits with 1.
    const { stdout } = await promisify(execFile)(process.execPath, [doctor], { env });
    for (const other of NAMES) expect(stdout).toContain(`${HOST}:${portOf(other, 'bus')}`);
  }
});

test('the first machine is lost with its bus, and the others go on; it comes back and knows everything', async () => {
  const [first, second, third] = NAMES;
  const launcher = must(launchers.get(first), 'it was started');
  killFamily(launcher.pid);
  await Promise.all([launcher.exited, buses.get(first)?.kill()]);
  for (const name of [second, third, second, third]) await view(name, `later-at-${name}`);
  await agree([second, third]);
  await buses.get(first)?.start();
  await start(first);
  await expect.poll(() => statusOf(first), SLOW).toBe(200);
  await view(first, 'after');
  await agree(NAMES);
});

test('a machine that starts again while the store is away takes events; all of them count once it is back', async () => {
  const [first] = NAMES;
  for (const name of NAMES) {
    const launcher = must(launchers.get(name), 'it was started');
    launcher.signal('SIGTERM');
    await launcher.exited;
  }
  await store.stop();
  const { output } = await start(first);
  expect(output()).toContain(`no ClickHouse answers at ${new URL(store.url).host}; events wait`);
  for (const device of ['one', 'two', 'three']) await view(first, `without-a-store-${device}`);
  expect(await statusOf(first)).toBe(503);
  await store.restart();
  await expect.poll(() => statusOf(first), SLOW).toBe(200);
  await agree([first]);
});

test('at the first start a store has to answer', async () => {
  const [port = 0] = await freePorts(HOST, 1);
  const settings = { ...settingsOf('machine-1'), CLICKHOUSE_URL: `http://${HOST}:${port}` };
  const launcher = startLauncher(join(folder, 'new', 'data'), settings);
  expect(await launcher.exited).toBe(1);
  expect(launcher.output()).toContain(`CLICKHOUSE_URL: no ClickHouse answers at ${HOST}:${port}.`);
});
