import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Launcher, startLauncher } from '../testing/launcher.ts';
import { NEWER_NODES, type NewerNode, newerNode } from '../testing/newer-node.ts';
import { nodeProblem, thisMachine } from './node-version.mjs';
import { isAlive } from './process-identity.mjs';

// The real start program with real parts. Each test has its own data folder.

const BROWSER =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36';
const RUNNING = /footfall is running at (http:\/\/\S+)/;
const PARTS = ['http', 'processor', 'store', 'bus'];
const FETCH_MAX_MS = 600_000;

interface StoredCredentials {
  readonly projectId: string;
  readonly clients: Record<'root' | 'read' | 'write', { readonly id: string; readonly secret: string }>;
}

let folder = '';
let dataDir = '';
let launchers: Launcher[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-start-'));
  dataDir = join(folder, 'data');
});

afterEach(async () => {
  for (const launcher of launchers) launcher.signal('SIGTERM');
  await Promise.all(launchers.map((launcher) => launcher.exited));
  launchers = [];
  rmSync(folder, { recursive: true, force: true });
});

test('the first start shows working clients; the second has the same data and shows no secret', async () => {
  const first = start();
  const url = await urlOf(first);
  const credentials = readCredentials();
  expect(statSync(join(dataDir, 'credentials.json')).mode & 0o777).toBe(0o600);
  for (const { id, secret } of Object.values(credentials.clients)) {
    expect(first.output()).toContain(id);
    expect(first.output()).toContain(secret);
  }
  for (const step of ['node', 'packages', 'nats-server', 'build', 'bus', 'store', 'processor', 'http']) {
    expect(first.output()).toMatch(new RegExp(`^ {2}${step} .* \\d+(\\.\\d+)? (ms|s)$`, 'm'));
  }
  await sendView(url, credentials, 'one');
  await untilViewsAre(url, credentials, 1);
  expect(await liveVisitors(url, credentials)).toBe(1);
  await stopWithCtrlC(first);

  const second = start();
  const secondUrl = await urlOf(second);
  for (const step of ['packages', 'build']) {
    expect(second.output()).toMatch(new RegExp(`^ {2}${step} +up to date `, 'm'));
  }
  await untilViewsAre(secondUrl, credentials, 1);
  await sendView(secondUrl, credentials, 'two');
  await untilViewsAre(secondUrl, credentials, 2);
  for (const { secret } of Object.values(credentials.clients)) expect(second.output()).not.toContain(secret);
  expect(logs()).not.toContain(credentials.clients.root.secret);
  await stopWithCtrlC(second);
});

test('each part restarts on the same port after SIGKILL', async () => {
  const launcher = start();
  const url = await urlOf(launcher);
  const credentials = readCredentials();
  await sendView(url, credentials, 'before');
  for (const [index, part] of PARTS.entries()) {
    const killedPid = launcher.pidOf(part);
    process.kill(killedPid, 'SIGKILL');
    await launcher.waitFor(new RegExp(`${part} +was killed by SIGKILL`));
    await launcher.waitFor(new RegExp(`${part} +is ready again`));
    expect(launcher.pidOf(part)).not.toBe(killedPid);
    await sendView(url, credentials, `after ${part}`);
    await untilViewsAre(url, credentials, 2 + index);
  }
  await stopWithCtrlC(launcher);
});

test('settings of a file reach every process, for the whole run, and the environment wins over them', async () => {
  const FOOTFALL_CONF = join(folder, 'own.conf');
  writeFileSync(FOOTFALL_CONF, 'PORT=1 # The environment has another.\nCOLLECT_PREFIXES="/own"\n');
  const launcher = start({ FOOTFALL_CONF });
  const url = await urlOf(launcher);
  const statuses = async () =>
    Promise.all(['/own', '/next'].map(async (prefix) => (await fetch(`${url}${prefix}/script.js`)).status));
  expect(await statuses()).toEqual([200, 404]);
  for (const part of PARTS)
    expect(readFileSync(`/proc/${launcher.pidOf(part)}/environ`, 'utf8')).toContain(
      'COLLECT_PREFIXES=/own\0',
    );
  writeFileSync(FOOTFALL_CONF, 'COLLECT_PREFIXES=/next\nno setting');
  process.kill(launcher.pidOf('http'), 'SIGKILL');
  await launcher.waitFor(/http +is ready again/);
  expect(await statuses()).toEqual([200, 404]);
  await stopWithCtrlC(launcher);
});

test('with --demo, one command shows a live number that moves, and Ctrl-C ends the traffic, too', async () => {
  const launcher = start({}, process.execPath, ['--demo']);
  const url = await urlOf(launcher);
  await launcher.waitFor(/^\S+ {2}[1-9]\d* events\/s, \d+ visits in progress, [1-9]\d* live visitors$/m);
  expect(await liveVisitors(url, readCredentials())).toBeGreaterThan(0);
  const shown = launcher.output().indexOf('live visitors');
  expect(shown).toBeGreaterThan(launcher.output().indexOf('Press Ctrl-C to stop'));
  await stopWithCtrlC(launcher);
  const afterwards = launcher.output();
  expect(launchedPrograms('demo.js')).toEqual([]);
  expect(launcher.output()).toBe(afterwards);
});

test('after SIGKILL of the launcher, the next start succeeds', async () => {
  const killed = start();
  const url = await urlOf(killed);
  const credentials = readCredentials();
  await sendView(url, credentials, 'one');
  const busPid = killed.pidOf('bus');
  killed.signal('SIGKILL');
  await killed.exited;
  const next = start();
  await untilViewsAre(await urlOf(next), credentials, 1);
  expect(isAlive(busPid)).toBe(false);
  await stopWithCtrlC(next);
});

describe.each(NEWER_NODES)('Node %s', (version) => {
  let copies = '';
  let node: NewerNode | undefined;
  beforeAll(async () => {
    copies = mkdtempSync(join(tmpdir(), 'footfall-node-'));
    node = await newerNode(version, copies);
  }, FETCH_MAX_MS);
  afterAll(() => rmSync(copies, { recursive: true, force: true }));

  test('runs every part, with the packages and the build made by the Node of this test', async ({ skip }) => {
    if (node === undefined) return skip();
    const launcher = start({ PATH: `${dirname(node.running)}:${process.env.PATH}` }, node.running);
    const url = await urlOf(launcher);
    expect(launcher.output()).toMatch(new RegExp(`^ {2}node +${version} `, 'm'));
    for (const part of ['http', 'processor', 'store']) {
      expect(readlinkSync(`/proc/${launcher.pidOf(part)}/exe`)).toBe(node.running);
    }
    const credentials = readCredentials();
    await sendView(url, credentials, 'one');
    await untilViewsAre(url, credentials, 1);
    expect(await liveVisitors(url, credentials)).toBe(1);
    await stopWithCtrlC(launcher);
  });

  test('is rejected in one line, before any file is created, when the glibc is too old', async ({ skip }) => {
    const problem = nodeProblem({ ...thisMachine(), version });
    if (node === undefined || problem === '') return skip();
    const launcher = start({}, node.published);
    expect(await launcher.exited).toBe(1);
    expect(launcher.output()).toBe(`${problem}\n`);
    expect(existsSync(dataDir)).toBe(false);
  });
});

describe('a failing start', () => {
  test('names an option that it does not know', async () => {
    const launcher = start({}, process.execPath, ['--dmo']);
    expect(await launcher.exited).toBe(1);
    expect(launcher.output()).toBe('--dmo is not an option of npm start. The only one is --demo.\n');
    expect(existsSync(dataDir)).toBe(false);
  });

  test('names file, line and name of a setting that does not exist', async () => {
    const FOOTFALL_CONF = join(folder, 'own.conf');
    writeFileSync(FOOTFALL_CONF, '# one\nPROT=80\n');
    await expectFailure(
      { FOOTFALL_CONF },
      new RegExp(`^${FOOTFALL_CONF}, line 2: PROT is not a setting .*\\.$`, 'm'),
    );
    expect(existsSync(dataDir)).toBe(false);
  });

  test('names a port that is in use, before it starts anything', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    await expectFailure({ PORT: port }, new RegExp(`^Port ${port} on 127.0.0.1 is in use\\. .*PORT`, 'm'));
    server.close();
  });

  test('names a NATS_SERVER that does not run', async () => {
    const env = { NATS_SERVER: '/nonexistent', PATH: '/usr/bin:/bin' };
    await expectFailure(env, /^NATS_SERVER: \/nonexistent .*NATS_URL.*$/m);
  });

  test('names the address, but not the password, of a NATS_URL that does not answer', async () => {
    const output = await expectFailure(
      { NATS_URL: 'nats://u:hidden@127.0.0.1:1', SECRETS_KEY: 'ab'.repeat(32) },
      /^NATS_URL: .* 127\.0\.0\.1:1\./m,
    );
    expect(output).not.toContain('hidden');
  });

  test('asks for the key that all processes of an outside bus share', async () => {
    await expectFailure({ NATS_URL: 'nats://127.0.0.1:1' }, /^SECRETS_KEY is needed beside NATS_URL, /m);
  });

  test('names the damaged file of the data folder', async () => {
    writeFileSync(join(folder, 'footfall.json'), '{');
    dataDir = folder;
    await expectFailure({}, /^\S+footfall\.json is damaged\. /m);
  });

  test('names the process that uses the data folder', async () => {
    const launcher = start();
    await urlOf(launcher);
    await expectFailure({}, new RegExp(`in use by process ${launcher.pid}\\.`));
    await stopWithCtrlC(launcher);
  });
});

function start(
  env: Record<string, string | undefined> = {},
  node = process.execPath,
  args: readonly string[] = [],
): Launcher {
  const settings = { NATS_URL: undefined, CLICKHOUSE_URL: undefined, ...env };
  const launcher = startLauncher(dataDir, settings, node, args);
  launchers.push(launcher);
  return launcher;
}

/** The running processes with this program and the data folder of the test. */
function launchedPrograms(program: string): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const read = (path: string) => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return ''; // It has ended meanwhile.
    }
  };
  return pids.filter(
    (pid) =>
      read(`/proc/${pid}/cmdline`).includes(program) &&
      read(`/proc/${pid}/environ`).includes(`DATA_DIR=${dataDir}`),
  );
}

async function urlOf(launcher: Launcher): Promise<string> {
  const [, url = ''] = await launcher.waitFor(RUNNING);
  await launcher.waitFor(/Press Ctrl-C to stop/);
  return url;
}

async function stopWithCtrlC(launcher: Launcher): Promise<void> {
  const pids = PARTS.map((part) => launcher.pidOf(part));
  launcher.signal('SIGINT');
  expect(await launcher.exited).toBe(0);
  const drained = [...launcher.output().matchAll(/^ {2}(\w+) +drained in /gm)].map((match) => match[1]);
  expect(drained).toEqual(PARTS);
  expect(pids.filter(isAlive)).toEqual([]);
  expect(existsSync(join(dataDir, 'lock'))).toBe(false);
}

async function expectFailure(env: Record<string, string>, line: RegExp): Promise<string> {
  const launcher = start(env);
  expect(await launcher.exited).toBe(1);
  expect(launcher.output()).toMatch(line);
  expect(launcher.output()).not.toMatch(RUNNING);
  return launcher.output();
}

function readCredentials(): StoredCredentials {
  return JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));
}

function logs(): string {
  const names = readdirSync(join(dataDir, 'logs'));
  return names.map((name) => readFileSync(join(dataDir, 'logs', name), 'utf8')).join('');
}

/** Sends one page view and repeats it until the service accepts it; the event ID makes it one event. */
async function sendView(url: string, { clients }: StoredCredentials, eventId: string): Promise<void> {
  await until(async () => {
    const response = await fetch(`${url}/track`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': BROWSER, ...headersOf(clients.write) },
      body: JSON.stringify({
        type: 'track',
        payload: { name: 'screen_view', eventId, properties: { __path: 'https://example.com/a' } },
      }),
    });
    return response.status === 200;
  }, `event ${eventId} to be accepted`);
}

async function untilViewsAre(url: string, credentials: StoredCredentials, views: number): Promise<void> {
  await until(async () => {
    const answer = await ask(`${url}/insights/${credentials.projectId}/metrics?range=today`, credentials);
    return answer?.metrics?.total_screen_views === views;
  }, `${views} views to be counted`);
}

async function liveVisitors(url: string, credentials: StoredCredentials): Promise<number | undefined> {
  return (await ask(`${url}/insights/${credentials.projectId}/live`, credentials))?.visitors;
}

interface InsightAnswer {
  readonly visitors?: number;
  readonly metrics?: { readonly total_screen_views: number };
}

async function ask(url: string, { clients }: StoredCredentials): Promise<InsightAnswer | undefined> {
  const response = await fetch(url, { headers: headersOf(clients.read) });
  return response.ok ? ((await response.json()) as InsightAnswer) : undefined;
}

function headersOf(client: { readonly id: string; readonly secret: string }): Record<string, string> {
  return { 'service-client-id': client.id, 'service-client-secret': client.secret };
}

/** Waits until `check` holds; a request that fails because a part is down is a reason to wait. */
async function until(check: () => Promise<boolean>, what: string): Promise<void> {
  const deadlineMs = Date.now() + 60_000;
  while (!(await check().catch(() => false))) {
    if (Date.now() > deadlineMs) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
