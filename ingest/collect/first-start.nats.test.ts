import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONTROL_BUCKET, siteKeyOf, siteSchema, teamKeyOf } from '../../infra/accounts/accounts.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { connectBus } from '../testing/collector.ts';

const run = promisify(execFile);
let nats: NatsServer;
let folder: string;

beforeAll(async () => {
  nats = await startNatsServer();
  folder = mkdtempSync(join(tmpdir(), 'footfall-first-'));
});

afterAll(async () => {
  await nats.stop();
  rmSync(folder, { recursive: true });
});

interface FirstStart {
  readonly created: boolean;
  readonly credentials: unknown;
  readonly cors: readonly string[];
}

async function firstStart(settings: Readonly<Record<string, string>> = {}): Promise<FirstStart> {
  const env = {
    ...process.env,
    NATS_URL: nats.url,
    DATA_DIR: folder,
    PORT: '3999',
    BASE_URL: '',
    ...settings,
  };
  const { stdout } = await run(process.execPath, ['dist/infra/accounts/first-start.js'], { env });
  return JSON.parse(stdout);
}

test('the first start makes accounts and their file, a later one leaves them, a broken one is made anew', async () => {
  const first = await firstStart();
  const file = join(folder, 'credentials.json');
  expect(first).toMatchObject({
    created: true,
    credentials: { baseUrl: 'http://127.0.0.1:3999', projectId: 'demo' },
  });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(first.credentials);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  rmSync(file);
  expect(await firstStart()).toEqual({
    created: false,
    credentials: null,
    cors: [],
    signIn: null,
  });

  const bus = await connectBus(nats.url);
  const bucket = await bus.keyed(CONTROL_BUCKET);
  await bucket.remove(teamKeyOf('team'));
  expect(await firstStart()).toMatchObject({ created: true });
  expect((await bucket.keys()).filter((key) => key.startsWith('client.'))).toHaveLength(3);
  await bus.close();
});

test.each<[string, Record<string, string>, string[]]>([
  ['on loopback', { HOST: '127.0.0.1' }, ['*']],
  ['beyond loopback', { HOST: '0.0.0.0' }, []],
  ['behind a trusted proxy', { TRUSTED_PROXIES: '127.0.0.1' }, []],
  ['with a public address', { BASE_URL: 'https://stats.example:8443/a' }, ['https://stats.example:8443']],
  ['beyond loopback with one', { HOST: '::', BASE_URL: 'https://stats.example' }, ['https://stats.example']],
  ['with an address that is none', { BASE_URL: 'stats' }, []],
])('%s, the first site allows the origins %j %j', async (_where, settings, cors) => {
  const bus = await connectBus(nats.url);
  try {
    const bucket = await bus.keyed(CONTROL_BUCKET);
    await bucket.remove(teamKeyOf('team'));
    expect(await firstStart(settings)).toMatchObject({ created: true, cors });
    const bytes = (await bucket.get(siteKeyOf('demo')))?.bytes;
    const site = siteSchema.parse(JSON.parse(Buffer.from(bytes ?? []).toString('utf8')));
    expect(site.cors).toEqual(cors);
  } finally {
    await bus.close();
  }
});
