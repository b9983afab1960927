import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startHttp, startSockets } from '../../testing/loopback.ts';
import { freePort } from '../ports.ts';
import { examine } from './examination.ts';
import { diskFinding, examineWrites, syncFinding } from './folder-checks.ts';
import { examineMachine } from './machine-checks.mjs';
import { examineOutsideBus, examineOutsideStore, serverFinding, storeFinding } from './outside-checks.ts';
import { serviceFindings } from './service-checks.ts';

const GB = 1e9;
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-doctor-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Finding {
  readonly name: string;
  readonly state: string;
  readonly text: string;
}

const statesOf = (findings: readonly Finding[]) => findings.map(({ name, state }) => `${name} ${state}`);

async function examined(env: Readonly<Record<string, string>>): Promise<{
  readonly isWell: boolean;
  readonly findings: readonly Finding[];
}> {
  const findings: Finding[] = [];
  const isWell = await examine(env, (finding) => findings.push(finding));
  return { isWell, findings };
}

test('a machine that is ready for a first start has no problem, and nothing is left in its folder', async () => {
  const { isWell, findings } = await examined({
    DATA_DIR: folder,
    PORT: String(await freePort('127.0.0.1')),
  });
  expect(isWell).toBe(true);
  expect(findings.map(({ name }) => name)).toEqual([
    'node',
    'machine',
    'open files',
    'data',
    'disk',
    'disk speed',
    'ports',
  ]);
  expect(readdirSync(folder)).toEqual([]);
});

test('a wrong setting is the only finding', async () => {
  const { isWell, findings } = await examined({ DATA_DIR: folder, PORT: 'https' });
  expect(isWell).toBe(false);
  expect(findings.at(-1)).toEqual({
    name: 'settings',
    state: 'problem',
    text: 'PORT: "https" is not a whole number from 0 to 65535 (port of the HTTP service; 0 picks a free port).',
  });
});

test('a data folder that is a file, and a port that another program has, are problems', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const other = await startHttp((_request, response) => response.end('{"status":"ready"}'));
  try {
    const { isWell, findings } = await examined({ DATA_DIR: file, PORT: String(other.port) });
    expect(isWell).toBe(false);
    expect(findings.filter(({ state }) => state === 'problem').map(({ text }) => text)).toEqual([
      `${file} cannot store the data: it is not a folder. Set DATA_DIR to a writable folder.`,
      `Port ${other.port} on 127.0.0.1 is in use. Stop the program that uses it, or set PORT to another port.`,
    ]);
  } finally {
    await other.stop();
  }
});

test.each([
  [{ cores: 2, memoryBytes: 24 * GB, filesMax: 1_048_576 }, false, ['machine good', 'open files good']],
  [{ cores: 1, memoryBytes: 2 * GB, filesMax: 1_024 }, false, ['machine advice', 'open files problem']],
  [{ cores: 1, memoryBytes: 2 * GB, filesMax: 8_192 }, true, ['machine good', 'open files advice']],
  [
    { cores: 1, memoryBytes: 0.4 * GB, filesMax: Number.POSITIVE_INFINITY },
    true,
    ['machine problem', 'open files good'],
  ],
])('the machine %o, small %s: %o', (facts, isSmall, states) => {
  expect(statesOf(examineMachine(facts, { isSmall }))).toEqual(states);
});

test.each([
  [100, 'good'],
  [30, 'advice'],
  [0.2, 'problem', 'the service is not ready'],
  [0.05, 'problem', 'events are rejected'],
  [Number.POSITIVE_INFINITY, 'good', 'does not say'],
])('with %d GB free the disk is %s', (free, state, text = 'GB free') => {
  const finding = diskFinding(free * GB, 0.27 * GB, 34 * GB);
  expect(finding).toMatchObject({ state, text: expect.stringContaining(text) });
});

test('a folder in which no file can be written is a problem', () => {
  expect(examineWrites(join(folder, 'gone'))).toMatchObject({
    state: 'problem',
    text: expect.stringContaining('ENOENT'),
  });
});

test('the median of the writes is the speed of the disk, so one slow write is no finding', () => {
  expect(syncFinding([1, 1, 900]).state).toBe('good');
  expect(syncFinding([1, 25, 30]).state).toBe('advice');
});

test.each([
  [undefined, 'problem', /no nats-server answers at n1:4222/],
  [{ version: '2.10.27', jetstream: true }, 'good', /^nats-server 2\.10\.27 at n1:4222$/],
  [{ version: '2.9.1', jetstream: true }, 'problem', /too old/],
  [{ version: '2.11.0' }, 'problem', /no JetStream/],
  [{}, 'problem', /too old/],
])('a bus that says %o is a %s', (greeting, state, text) => {
  const finding = serverFinding('n1:4222', greeting);
  expect([finding.state, text.test(finding.text)]).toEqual([state, true]);
});

test('the doctor examines every server of NATS_URL, whole greeting or in pieces, and advises on fewer servers than copies', async () => {
  const info = 'INFO {"version":"2.10.27","jetstream":true}\r\n';
  const whole = await startSockets((socket) => socket.write(info));
  const slow = await startSockets((socket) => {
    socket.write(info.slice(0, 3));
    setTimeout(() => socket.write(info.slice(3)), 50);
  });
  const other = await startSockets((socket) => socket.write('SSH-2.0-OpenSSH\r\n'));
  try {
    const at = (server: { readonly port: number }) => `nats://user:secret@127.0.0.1:${server.port}`;
    const findings = await examineOutsideBus([whole, slow, other].map(at).join(','), 5);
    expect(statesOf(findings)).toEqual(['bus good', 'bus good', 'bus problem', 'bus advice']);
    expect(JSON.stringify(findings)).not.toContain('secret');
  } finally {
    for (const server of [whole, slow, other]) await server.stop();
  }
});

test.each([
  ['25.3.1.1\t1000', 1_500, 'good'],
  ['24.3.1.1\t1000', 1_000, 'problem'],
  ['25.3.1.1\t1000', 4_000, 'problem'],
  ['nonsense', 1_000, 'problem'],
])('a store that answers %j at %d is a %s', (answer, nowMs, state) => {
  expect(storeFinding('store:8123', answer, nowMs).state).toBe(state);
});

test('a store is asked with the user of its URL, and a refusal says so without the password', async () => {
  const store = await startHttp(({ headers }, response) => {
    const isRight = headers['x-clickhouse-user'] === 'me' && headers['x-clickhouse-key'] === 'p@ss';
    response.writeHead(isRight ? 200 : 403).end(`25.3.1.1\t${Date.now()}\n`);
  });
  try {
    const findings = async (password: string) =>
      examineOutsideStore(`http://me:${password}@127.0.0.1:${store.port}`);
    expect(statesOf(await findings('p%40ss'))).toEqual(['store good']);
    expect(await findings('wrong')).toEqual([
      {
        name: 'store',
        state: 'problem',
        text: `ClickHouse at 127.0.0.1:${store.port} refuses the user or the password. See CLICKHOUSE_URL.`,
      },
    ]);
  } finally {
    await store.stop();
  }
  expect(statesOf(await examineOutsideStore(`http://127.0.0.1:${await freePort('127.0.0.1')}`))).toEqual([
    'store problem',
  ]);
});

test('a service that runs says what is away, and what it warns of', () => {
  const up = { name: 'bus', up: true };
  expect(serviceFindings(3000, { status: 'ready', dependencies: [up] })).toEqual([
    { name: 'service', state: 'good', text: 'footfall runs at port 3000 and is ready' },
  ]);
  expect(
    serviceFindings(3000, {
      status: 'not ready',
      dependencies: [up, { name: 'store', up: false }],
      warnings: [{ setting: 'TRUSTED_PROXIES', message: 'a proxy is not trusted' }],
    }),
  ).toEqual([
    { name: 'service', state: 'problem', text: 'footfall runs at port 3000 and is not ready: store away' },
    { name: 'service', state: 'advice', text: 'TRUSTED_PROXIES: a proxy is not trusted' },
  ]);
  expect(serviceFindings(3000, { status: 'ready' })[0]?.text).toContain('its details need OPERATIONS_TOKEN');
});
