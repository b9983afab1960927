import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container } from 'kubernetes-types/core/v1';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { freePorts } from '../../launch/ports.ts';
import { containerOf, manifestsText, sharedSettings } from '../../testing/kubernetes-manifests.ts';
import { type NatsServer, startNatsServer } from '../../testing/nats-server.ts';
import { type Program, runProgram, startProgram } from '../../testing/program.ts';
import { type StoreServer, startStoreServer } from '../../testing/store-server.ts';

// The containers of the manifests as processes on loopback: their commands, their settings and their probes.

const credential = z.object({ id: z.string(), secret: z.string() });
const madeTeam = z.object({ data: z.object({ client: credential }) });
const madeSite = z.object({ data: z.object({ id: z.string(), client: credential }) });
const TOKEN = 'token-of-the-operator';
interface Pod {
  readonly url: string;
  readonly program: Program;
  readonly container: Container;
}

let folder = '';
let nats: NatsServer;
let store: StoreServer;
let secret: Readonly<Record<string, string>>;
let pods: Pod[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-kubernetes-'));
  [nats, store] = await Promise.all([
    startNatsServer(),
    startStoreServer({ dataDir: join(folder, 'store') }),
  ]);
  secret = {
    NATS_URL: nats.url,
    CLICKHOUSE_URL: store.url,
    SECRETS_KEY: 'ab'.repeat(32),
    OPERATIONS_TOKEN: TOKEN,
  };
  // In parallel, as a set starts them: both want to make the tables.
  pods = await Promise.all([
    start('footfall-processor', 'footfall-processor-0'),
    start('footfall-processor', 'footfall-processor-1'),
  ]);
  pods.push(await start('footfall-web', 'footfall-web-0'));
});
afterAll(async () => {
  await Promise.all(pods.map(({ program }) => program.end('SIGKILL')));
  await store?.stop();
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The environment of a container; addresses are on loopback, and the bus has one server. */
function envOf(workload: string, pod: string, port: number): Record<string, string> {
  const shared = sharedSettings();
  // A variable without a value gets the name of the pod.
  const own = containerOf(workload).env?.map(({ name, value = pod }) => [name, value] as const) ?? [];
  const here = { BUS_REPLICAS: '1', DATA_DIR: join(folder, pod) };
  const addresses =
    workload === 'footfall-web'
      ? { HOST: '127.0.0.1', PORT: String(port) }
      : { METRICS_HOST: '127.0.0.1', METRICS_PORT: String(port) };
  return { ...shared, ...secret, ...Object.fromEntries(own), ...here, ...addresses };
}

async function start(workload: string, name: string): Promise<Pod> {
  const [port = 0] = await freePorts('127.0.0.1', 1);
  const container = containerOf(workload);
  const [command, ...args] = container.command ?? [];
  expect(command).toBe('node');
  const program = await startProgram(args, envOf(workload, name, port));
  return { url: `http://127.0.0.1:${port}`, program, container };
}

test('every probe says that its pod works: of two processors one owns the lane, the other stands by', async () => {
  for (const { url, container } of pods) {
    const { startupProbe, readinessProbe, livenessProbe } = container;
    for (const probe of [startupProbe, readinessProbe, livenessProbe]) {
      const path = probe?.httpGet?.path ?? '';
      expect(path).toMatch(/^\/healthz\//);
      await expect.poll(async () => (await fetch(url + path)).status, { timeout: 60_000 }).toBe(200);
    }
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
  }
  const owned = await Promise.all(
    pods.slice(0, 2).map(async ({ url }) => {
      const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
      return Number(/^footfall_processor_lane_owned\S* (\d)$/m.exec(await metrics.text())?.[1]);
    }),
  );
  expect(owned.sort()).toEqual([0, 1]);
});

test('the command for the first team leads to a site whose visitor counts', async () => {
  const [, command = ''] = /kubectl exec deploy\/footfall-web -- (node .*)/.exec(manifestsText) ?? [];
  const [, ...args] = command.split(' ');
  const stdout = await runProgram([...args, '--json'], envOf('footfall-web', 'footfall-web-0', 3000));
  const { client: root } = madeTeam.parse(JSON.parse(stdout)).data;
  const web = pods.at(-1)?.url ?? '';
  const ask = async (path: string, client: { id: string; secret: string }, body?: object) => {
    const headers = {
      'service-client-id': client.id,
      'service-client-secret': client.secret,
      'content-type': 'application/json',
      'user-agent':
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36',
    };
    const answer = await fetch(web + path, {
      headers,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: await answer.json() };
  };
  const made = await ask('/manage/projects', root, { name: 'Shop' });
  expect(made.status).toBe(200);
  const { id, client } = madeSite.parse(made.body).data;
  const sent = await ask('/track', client, {
    type: 'track',
    payload: { name: 'screen_view', properties: { __path: '/' } },
  });
  expect(sent).toMatchObject({ status: 200 });
  await expect.poll(async () => (await ask(`/insights/${id}/live`, root)).body).toEqual({ visitors: 1 });
});

test('pods end with 0 when they are asked to', async () => {
  for (const { program } of pods) expect(await program.end('SIGTERM')).toBe(0);
});
