import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Launcher, startLauncher } from '../testing/launcher.ts';
import { type StoreServer, startStoreServer } from '../testing/store-server.ts';
import { freePorts } from './ports.ts';

// `npm start` with a store of one's own that does not answer: an error at the first start, and no obstacle later.

const HOST = '127.0.0.1';

let folder = '';
let store: StoreServer;
let launcher: Launcher | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-absent-store-'));
  mkdirSync(join(folder, 'store'));
  store = await startStoreServer({ dataDir: join(folder, 'store') });
});

afterAll(async () => {
  launcher?.signal('SIGTERM');
  await launcher?.exited;
  await store?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function start(name: string, url: string): Launcher {
  launcher = startLauncher(join(folder, name), { NATS_URL: undefined, CLICKHOUSE_URL: url });
  return launcher;
}

test('at the first start a store has to answer', async () => {
  const [port = 0] = await freePorts(HOST, 1);
  const { exited, output } = start('new', `http://${HOST}:${port}`);
  expect(await exited).toBe(1);
  expect(output()).toContain(`CLICKHOUSE_URL: no ClickHouse answers at ${HOST}:${port}.`);
});

test('a later start without the store says so, and takes events', async () => {
  const first = start('used', store.url);
  await first.waitFor(/Press Ctrl-C to stop/);
  first.signal('SIGTERM');
  await first.exited;
  await store.stop();
  const second = start('used', store.url);
  await second.waitFor(/Press Ctrl-C to stop/);
  expect(second.output()).toContain(`no ClickHouse answers at ${new URL(store.url).host}; events wait`);
  const [, url = ''] = await second.waitFor(/^ {2}http +(http:\/\/\S+)/m);
  const { id, secret } = JSON.parse(readFileSync(join(folder, 'used', 'credentials.json'), 'utf8')).clients
    .write;
  const sent = await fetch(`${url}/track`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'service-client-id': id,
      'service-client-secret': secret,
    },
    body: JSON.stringify({ type: 'track', payload: { name: 'waits', properties: {} } }),
  });
  expect(sent.status).toBe(200);
});
