import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Launcher, startLauncher } from '../testing/launcher.ts';

// The real start program with several processes on one port. Every request has a connection of its own, so that the kernel
// gives it to any of them.

const EVENTS = 240;
const AT_ONCE = 12;
const WAIT_MAX_MS = 60_000;
/** Longer than a process waits for another one that hangs. */
const HANG_MAX_MS = 4_000;
const BROWSER =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36';

interface StoredClient {
  readonly id: string;
  readonly secret: string;
}

let folder = '';
let launchers: Launcher[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-processes-'));
});

afterEach(async () => {
  for (const launcher of launchers) launcher.signal('SIGTERM');
  await Promise.all(launchers.map((launcher) => launcher.exited));
  launchers = [];
  rmSync(folder, { recursive: true, force: true });
});

test('processes that share a port look like one service, also when one of them is killed', async () => {
  const launcher = start('data', { COLLECTORS: '2', QUERIES: '1', QUERY_PORT: '0' });
  const [, url = ''] = await launcher.waitFor(/footfall is running at (http:\/\/\S+)/);
  const { projectId, clients } = JSON.parse(readFileSync(join(folder, 'data/credentials.json'), 'utf8'));

  // Ready as a whole from the first answer on, from every process.
  const names = ['http-1', 'http-2', 'query-1'];
  for (let turn = 0; turn < 10; turn += 1) {
    const { status, body } = await ask(`${url}/healthz/ready`);
    const { processes } = JSON.parse(body);
    expect([status, processes.map(({ name }: { name: string }) => name)]).toEqual([200, names]);
  }

  // Each of the two takes a part, and the metrics show both parts to any asker.
  const isCountedByBoth = async () => {
    expect((await ask(`${url}/track`, {}, '{')).status).toBe(400);
    return (await rejects(url)).every((count) => count > 0);
  };
  await until(isCountedByBoth, 'both processes to take requests');
  const sent = (await rejects(url)).reduce((sum, count) => sum + count, 0);
  await ask(`${url}/track`, {}, '{');
  expect((await rejects(url)).reduce((sum, count) => sum + count, 0)).toBe(sent + 1);

  // One is killed in the middle. Connections to it break; requests on them are sent again.
  const first = launcher.pidOf('http-1');
  const killed = launcher.pidOf('http-2');
  let next = 0;
  let repeats = 0;
  const send = async () => {
    for (let id = next; id < EVENTS; id = next) {
      next += 1;
      if (id === EVENTS / 4) process.kill(killed, 'SIGKILL');
      while (!(await isTaken(url, clients.write, `event-${id}`))) repeats += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
  // The other process took the rest: only requests on broken connections failed.
  expect(repeats).toBeLessThan(EVENTS / 2);
  await launcher.waitFor(/http-2 +was killed by SIGKILL, restarting/);
  await launcher.waitFor(/http-2 +is ready again/);
  await until(async () => (await ask(`${url}/healthz/ready`)).status === 200, 'all processes to be ready');
  expect([launcher.pidOf('http-1'), launcher.pidOf('http-2') === killed]).toEqual([first, false]);

  // Every process gives the same answers, including the one on the port for questions.
  const queryLog = readFileSync(join(folder, 'data/logs/query-1.log'), 'utf8');
  const [, queryUrl = ''] = /^ready {"url":"(\S+)"}$/m.exec(queryLog) ?? [];
  const path = `/insights/${projectId}/metrics?range=today`;
  const views = async (base: string) => {
    const { status, body } = await ask(`${base}${path}`, headersOf(clients.read));
    return status === 200 ? JSON.parse(body).metrics.total_screen_views : status;
  };
  await until(async () => (await views(url)) === EVENTS, 'every event to count');
  const answers = await Promise.all([url, url, url, url, url, url, queryUrl].map(views));
  expect(answers).toEqual(answers.map(() => EVENTS));

  // While one process hangs, the others report that the service is not ready.
  process.kill(launcher.pidOf('http-2'), 'SIGSTOP');
  await until(async () => {
    const { status, body } = await ask(`${url}/healthz/ready`, {}, undefined, HANG_MAX_MS);
    if (status !== 503) return false;
    const hanging = JSON.parse(body).processes.filter(
      (one: { readonly status: string }) => one.status === 'does not answer',
    );
    expect(hanging).toEqual([{ name: 'http-2', status: 'does not answer' }]);
    const { body: metrics } = await ask(`${queryUrl}/metrics`);
    return ['http-1"} 1', 'http-2"} 0', 'query-1"} 1'].every((line) =>
      metrics.includes(`process_up{process="${line}`),
    );
  }, 'the process that hangs to be noticed');
  process.kill(launcher.pidOf('http-2'), 'SIGCONT');

  // Another start on the port is refused, although the library could share it.
  const second = start('other', { PORT: new URL(url).port });
  expect(await second.exited).toBe(1);
  expect(second.output()).toMatch(/^Port \d+ on 127\.0\.0\.1 is in use\. /m);

  launcher.signal('SIGINT');
  expect(await launcher.exited).toBe(0);
  const drained = [...launcher.output().matchAll(/^ {2}(\S+) +drained in /gm)].map((match) => match[1]);
  expect(drained.slice(0, 3).sort()).toEqual(names);
  expect(drained.slice(3)).toEqual(['processor', 'store', 'bus']);
});

function start(name: string, env: Readonly<Record<string, string>>): Launcher {
  const settings = { NATS_URL: undefined, CLICKHOUSE_URL: undefined, ...env };
  const launcher = startLauncher(join(folder, name), settings);
  launchers.push(launcher);
  return launcher;
}

/** The number of bodies with invalid JSON that each process has counted. */
async function rejects(url: string): Promise<readonly number[]> {
  const { body } = await ask(`${url}/metrics`);
  const series = /^ingest_rejects_total{process="http-\d",reason="not-json"} (\d+)$/gm;
  const counts = [...body.matchAll(series)].map((match) => Number(match[1]));
  expect(counts).toHaveLength(2);
  return counts;
}

async function isTaken(url: string, client: StoredClient, eventId: string): Promise<boolean> {
  const payload = { name: 'screen_view', eventId, properties: { __path: 'https://example.com/a' } };
  const headers = { 'user-agent': BROWSER, ...headersOf(client) };
  const body = JSON.stringify({ type: 'track', payload });
  return (await ask(`${url}/track`, headers, body)).status === 200;
}

function headersOf({ id, secret }: StoredClient): Record<string, string> {
  return { 'service-client-id': id, 'service-client-secret': secret };
}

interface PlainAnswer {
  /** 0 when the connection broke or nothing came in time. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Asks on a connection of its own. */
function ask(
  url: string,
  headers: Record<string, string> = {},
  body?: string,
  waitMs = WAIT_MAX_MS,
): Promise<PlainAnswer> {
  const method = body === undefined ? 'GET' : 'POST';
  const signal = AbortSignal.timeout(waitMs);
  return new Promise((resolve) => {
    const broken = () => resolve({ status: 0, headers: {}, body: '' });
    const type = { 'content-type': 'application/json' };
    const asked = request(
      url,
      { method, headers: { ...type, ...headers }, agent: false, signal },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (part: string) => {
          text += part;
        });
        answer.once('error', broken);
        answer.once('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }),
        );
      },
    );
    asked.once('error', broken);
    asked.end(body);
  });
}

async function until(check: () => Promise<boolean>, what: string): Promise<void> {
  const deadlineMs = Date.now() + WAIT_MAX_MS;
  while (!(await check())) {
    if (Date.now() > deadlineMs) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
