import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FORMER_DATA } from '../store/former-data.ts';
import { THREADS_MIN } from '../store-server/threads.ts';
import { sourceState } from './build.mjs';
import { busFileBytesMax, natsConfig } from './bus-config.ts';
import { parseReadyLine } from './child.ts';
import { openDataFolder } from './data-folder.ts';
import { parseIndexTargets, parseOsRelease, sourceLines, sourcesFor } from './debian-package.ts';
import { firstStartLines, laterStartLines } from './first-lines.ts';
import { parseFirstStart } from './first-start.ts';
import { takeLock, waitForLock } from './lock.mjs';
import { openLogFile } from './log-file.ts';
import { createLogLines, readableLogLine } from './log-lines.ts';
import { checksumOf, targetOf } from './nats-release.ts';
import { knownNatsServer } from './nats-server.ts';
import { parseNatsVersion } from './nats-version.ts';
import { isInstalled } from './packages.mjs';
import { STORE_THREADS } from './parts.ts';
import { identityOf } from './process-identity.mjs';
import { afterDeath, NO_FAILURES } from './restart-policy.ts';
import { createTerminal, formatDuration, wantsColor } from './terminal.mjs';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-launch-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('versions', () => {
  test.each([
    ['nats-server: v2.10.27', '2.10.27'],
    ['nats-server: v2.9.10', '2.9.10'],
    ['nats-server: v2.11.0-RC.1\n', '2.11.0-RC.1'],
    ['something else 2.10.1', undefined],
  ])('%s is parsed', (output, version) => {
    expect(parseNatsVersion(output)).toBe(version);
  });

  test.each([
    ['2.10.0', true],
    ['2.9.25', false],
    ['3.0.0', true],
    ['1.99.0', false],
  ])('nats-server %s is supported: %s', async (version, isSupported) => {
    const path = join(folder, 'nats-server');
    writeFileSync(path, `#!/bin/sh\necho nats-server: v${version}\n`, { mode: 0o755 });
    expect((await knownNatsServer({ NATS_SERVER: '', PATH: folder }, folder)) !== undefined).toBe(
      isSupported,
    );
  });
});

describe('sources of nats-server', () => {
  const output =
    'http://mirror/debian|bookworm|main\nhttp://mirror/debian|bookworm|main\nhttp://other|stable|main\n';

  test("the next release is requested from the machine's mirror, with its keyring", () => {
    const next = sourcesFor('next', parseIndexTargets(output), 'bookworm');
    expect(sourceLines(next, '/keys.gpg')).toBe(
      'deb [signed-by=/keys.gpg] http://mirror/debian trixie main\n',
    );
  });

  test('third-party sources are never used', () => {
    expect(sourcesFor('own', parseIndexTargets(output), 'bookworm').map(({ uri }) => uri)).toEqual([
      'http://mirror/debian',
    ]);
  });

  test('os-release is read with and without quotes', () => {
    expect(parseOsRelease('ID=debian\nVERSION_CODENAME="bookworm"\n')).toEqual({
      id: 'debian',
      suite: 'bookworm',
    });
    expect(parseOsRelease('ID=alpine\n')).toEqual({ id: 'alpine', suite: '' });
  });

  test('the checksum of an archive is found in the list; a list without it is an error', () => {
    const list = Buffer.from('ABC  one.tar.gz\ndef *two.tar.gz\n');
    expect([checksumOf('one.tar.gz', list), checksumOf('two.tar.gz', list)]).toEqual(['abc', 'def']);
    expect(() => checksumOf('three.tar.gz', list)).toThrow('does not contain');
    expect([targetOf('linux', 'x64'), targetOf('win32', 'x64')]).toEqual(['linux-amd64', undefined]);
  });
});

describe('config of the bus', () => {
  const settings = {
    port: 4222,
    storeDir: '/a "b"',
    login: { user: 'u', password: 'p' },
    fileBytesMax: 1000,
  };

  test('listens on loopback only, with a login, and syncs always', () => {
    const config = natsConfig(settings);
    expect(config).toContain('listen: "127.0.0.1:4222"');
    expect(config).toContain('sync_interval: always');
    expect(config).toContain('store_dir: "/a \\"b\\""');
    expect(config).toContain('authorization { user: "u", password: "p" }');
    expect(config).not.toContain('http');
  });

  test('has room for every stream at its limit', () => {
    expect(busFileBytesMax(2 ** 34)).toBeGreaterThan(2 * 2 ** 34);
  });
});

describe('restarts', () => {
  test('wait twice as long each time, at most 10 s', () => {
    let state = NO_FAILURES;
    const delays = Array.from({ length: 8 }, () => {
      const decision = afterDeath(state, 20_000);
      state = decision;
      return decision.delayMs;
    });
    expect(delays).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  });

  test('are reset after a healthy minute', () => {
    expect(afterDeath({ failures: 7, earlyFailures: 7 }, 60_000)).toEqual({
      failures: 1,
      earlyFailures: 0,
      delayMs: 200,
      givesUp: false,
    });
  });

  test('end with the eighth early exit in a row, and only then', () => {
    expect(afterDeath({ failures: 6, earlyFailures: 6 }, 50).givesUp).toBe(false);
    expect(afterDeath({ failures: 7, earlyFailures: 7 }, 50).givesUp).toBe(true);
    expect(afterDeath({ failures: 7, earlyFailures: 7 }, 10_000).givesUp).toBe(false);
  });
});

describe('a lock', () => {
  test('of a running process is respected, and names it', () => {
    const path = join(folder, 'lock');
    const first = takeLock(path);
    expect(takeLock(path)).toEqual({ heldBy: process.pid });
    if ('release' in first) first.release();
    expect(existsSync(path)).toBe(false);
  });

  test.each([
    ['of a process that is gone', () => JSON.stringify({ pid: 2 ** 22 + 1, identity: 'gone' })],
    [
      'whose process ID now belongs to another process',
      () => JSON.stringify({ pid: process.pid, identity: 'earlier' }),
    ],
    ['with invalid content', () => '{'],
  ])('%s is taken over', (_name, content) => {
    const path = join(folder, 'lock');
    writeFileSync(path, content());
    expect(takeLock(path)).toHaveProperty('release');
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      pid: process.pid,
      identity: identityOf(process.pid),
    });
  });

  test('that is being written is respected, and is taken over when it stays empty', () => {
    const path = join(folder, 'lock');
    writeFileSync(path, '');
    expect(takeLock(path)).toEqual({ heldBy: 0 });
    utimesSync(path, 0, 0);
    expect(takeLock(path)).toHaveProperty('release');
  });

  test('can be waited for', async () => {
    const path = join(folder, 'lock');
    const first = takeLock(path);
    const second = waitForLock(path, () => 'release' in first && first.release());
    expect(await second).toHaveProperty('release');
  });
});

describe('a data folder', () => {
  const open = () => openDataFolder(join(folder, 'data'));
  const prepare = (files: Record<string, string>) => {
    mkdirSync(join(folder, 'data'));
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, 'data', name), content);
  };

  test('that does not exist is created, for its owner only, and is the same at the next start', () => {
    const first = open();
    expect(first.isFirstStart).toBe(true);
    expect(statSync(join(folder, 'data/secrets.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'data')).mode & 0o777).toBe(0o700);
    first.lock.release();
    const second = open();
    expect(second).toMatchObject({ isFirstStart: false, secrets: first.secrets });
    second.lock.release();
  });

  test('in use is rejected, naming the process', () => {
    const first = open();
    expect(() => open()).toThrow(`in use by process ${process.pid}. Stop it (kill ${process.pid}) first`);
    first.lock.release();
  });

  test('whose lock is being written is rejected without naming a process to kill', () => {
    prepare({ lock: '' });
    expect(() => open()).toThrow(/in use by another process\. Stop it first, or set DATA_DIR/);
  });

  const client = { id: 'i', secret: 's' };
  const credentials = JSON.stringify({
    projectId: 'demo',
    clients: { root: client, read: client, write: client },
  });
  const marker = '{"format":3}';
  test.each<[string, Record<string, string>, string]>([
    ['with a broken footfall.json', { 'footfall.json': '{' }, 'footfall.json is damaged'],
    ['with a footfall.json of another kind', { 'footfall.json': '[]' }, 'footfall.json is damaged'],
    ['that lost its footfall.json', { store: '' }, 'footfall.json is missing'],
    ['of a newer version', { 'footfall.json': '{"format":4}' }, 'newer version of footfall'],
    ['of a version before 1.0.0', { 'footfall.json': '{"format":2}' }, FORMER_DATA],
    [
      'of the first format',
      { 'footfall.json': '{"format":1,"partitions":8}' },
      'take a backup with the version that wrote it',
    ],
    ['with other things in it', { 'thesis.txt': '' }, 'contains other files (thesis.txt)'],
    [
      'with broken credentials',
      { 'footfall.json': marker, 'credentials.json': '{"a":' },
      'credentials.json is damaged',
    ],
    [
      'with half the credentials',
      { 'footfall.json': marker, 'credentials.json': '{}' },
      'credentials.json is damaged',
    ],
  ])('%s is rejected in one line, and left unlocked', (_name, files, message) => {
    prepare(files);
    expect(() => open()).toThrow(message);
    expect(() => open()).toThrow(/^[^\n]+\.$/);
    expect(existsSync(join(folder, 'data/lock'))).toBe(false);
  });

  test('with lost secrets or files of an interrupted write opens', () => {
    prepare({ 'footfall.json': marker, 'secrets.json': 'x', 'credentials.json': credentials, 'a.part': '' });
    const opened = open();
    expect(opened.secrets.busPassword).toMatch(/^s[0-9a-f]{48}$/);
    expect(opened.secrets.secretsKey).toMatch(/^[0-9a-f]{64}$/);
    opened.lock.release();
  });

  test.each([
    ['without a key', ['secretsKey'], { secretsKey: undefined }],
    ['with a damaged key', ['secretsKey'], { secretsKey: 'ab' }],
    ['without a password', ['busPassword'], { busPassword: undefined }],
    ['with a password that needs quoting', ['storePassword'], { storePassword: 'a"b' }],
  ])('with secrets %s preserves the others', (_name, made, changed) => {
    const whole = { busUser: 'u', busPassword: 'p', storePassword: 's', operationsToken: 't', instance: 'i' };
    const before: Record<string, unknown> = { ...whole, secretsKey: 'ab'.repeat(32), ...changed };
    prepare({ 'footfall.json': marker, 'secrets.json': JSON.stringify(before) });
    const first = open();
    first.lock.release();
    const differing = Object.entries(first.secrets).filter(([name, value]) => before[name] !== value);
    expect(differing.map(([name]) => name)).toEqual(made);
    const second = open();
    second.lock.release();
    expect(second.secrets).toEqual(first.secrets);
  });

  test('that is a file is rejected', () => {
    writeFileSync(join(folder, 'data'), '');
    expect(() => open()).toThrow('it is not a folder');
    expect(() => openDataFolder(join(folder, 'data/below'))).toThrow('a part of the path is a file');
  });
});

describe('what the terminal shows', () => {
  const credentials = {
    projectId: 'demo',
    clients: {
      root: { id: 'r', secret: 'sr' },
      read: { id: 'e', secret: 'se' },
      write: { id: 'w', secret: 'sw' },
    },
  };
  const url = 'http://127.0.0.1:3000';
  const facts = { url, credentialsPath: '/d/credentials.json', cors: ['*'], tokenPath: undefined };

  test('at the first start: the clients, and commands with the right client', () => {
    const text = firstStartLines({ ...facts, credentials, signIn: 'token' }).join('\n');
    expect(text).toMatch(/root {3}r {2}sr/);
    expect(text).toContain(`\n  ${url}/#sign-in=token\n`);
    expect(text).toContain(`curl ${url}/track`);
    expect(text).toContain("'service-client-secret: sw'");
    expect(text).toContain(`curl ${url}/insights/demo/live`);
    expect(text).toContain("'service-client-secret: se'");
    expect(text).toContain(
      `<script async src="${url}/script.js" data-client-id="${credentials.clients.write.id}">`,
    );
  });

  test('at a later start: no secret', () => {
    const lines = laterStartLines(facts);
    expect(lines.join('\n')).toBe(
      `\nfootfall is running at ${url}\nClients and secrets: /d/credentials.json\nDashboard: ${url} (a link that signs you in: npm run admin -- sign-in)\nPress Ctrl-C to stop.`,
    );
  });

  test.each([
    [
      'a warning',
      '{"level":40,"time":1,"pid":2,"component":"p","msg":"slow","lagEvents":3}',
      'warning: slow lagEvents=3',
    ],
    [
      'an error with its cause',
      '{"level":50,"msg":"lost","err":{"type":"E","message":"no\\nway","stack":"E: no"}}',
      'error: lost err="no\\nway"',
    ],
    ['an error of the bus', '[7] 2026/01/01 00:00:00.1 [ERR] disk full', 'error: disk full'],
    ['a notice', '{"level":30,"msg":"fine"}', undefined],
    ['a truncated line', '{"level":40,"msg":"sl', undefined],
    ['any other line', 'ready {}', undefined],
  ])('%s', (_name, line, shown) => {
    expect(readableLogLine(line)).toBe(shown);
  });

  test('many warnings become a few lines and a count', () => {
    let nowMs = 0;
    const lines: string[] = [];
    const log = createLogLines(
      (part, text) => void lines.push(`${part} ${text}`),
      () => nowMs,
    );
    for (let count = 0; count < 100; count++) log.show('store', '{"level":40,"msg":"slow"}');
    expect(lines).toHaveLength(5);
    nowMs = 2_000;
    log.show('store', '{"level":40,"msg":"slow"}');
    expect(lines.slice(5)).toEqual(['… 95 more warnings are in the logs', 'store warning: slow']);
  });

  test('a step is one line with its duration, without colour or control characters when the output is not a terminal', async () => {
    let text = '';
    const output = {
      write: (part: string) => {
        text += part;
      },
    };
    const terminal = createTerminal(output, { color: wantsColor(output, {}) });
    await terminal.step('bus', () => 'on port 1');
    expect(text).toMatch(/^ {2}bus {10}on port 1 +\d+ ms\n$/);
  });

  test.each([
    [12.3, '12 ms'],
    [1234, '1.2 s'],
    [125_000, '2 min 5 s'],
  ])('%d ms is shown as %s', (durationMs, shown) => {
    expect(formatDuration(durationMs)).toBe(shown);
  });
});

test('the store is started with enough threads', () => {
  expect(STORE_THREADS).toBeGreaterThanOrEqual(THREADS_MIN);
});

test('the ready line of a part is recognized among its output', () => {
  expect(parseReadyLine('ready {"url":"u"}')).toEqual({ url: 'u' });
  expect(parseReadyLine('ready')).toEqual({});
  expect(parseReadyLine('ready {')).toBeUndefined();
  expect(parseReadyLine('already {}')).toBeUndefined();
  const answer = { created: true, credentials: {}, cors: [], signIn: null };
  expect(parseFirstStart(JSON.stringify(answer))).toEqual(answer);
  expect(parseFirstStart('null')).toBeUndefined();
});

test('a log has at most two files, and its tail is of this run only', () => {
  const path = join(folder, 'logs/store.log');
  writeFileSync(join(folder, 'x'), '');
  const earlier = openLogFile(path, { bytesMax: 10 });
  earlier.write('of an earlier run\n');
  earlier.close();
  const log = openLogFile(path, { bytesMax: 10 });
  expect(log.tail(2)).toBe('');
  for (const line of ['one two three\n', 'four\n', 'five six seven\n']) log.write(line);
  expect(log.tail(2)).toBe('four\nfive six seven');
  log.close();
  log.write('too late');
  expect(readFileSync(path, 'utf8') + readFileSync(`${path}.1`, 'utf8')).not.toContain('earlier');
});

test('packages are up to date when all but the optional ones are installed in the same version', () => {
  const lock = {
    packages: {
      '': {},
      'node_modules/a': { version: '1' },
      'node_modules/b': { version: '1', optional: true },
    },
  };
  expect(isInstalled(lock, { packages: { 'node_modules/a': { version: '1' } } })).toBe(true);
  expect(isInstalled(lock, { packages: { 'node_modules/a': { version: '2' } } })).toBe(false);
  expect(isInstalled(lock, { packages: {} })).toBe(false);
});

test('a changed source needs a build, a changed test or document does not', () => {
  mkdirSync(join(folder, 'infra'));
  const before = sourceState(folder);
  writeFileSync(join(folder, 'infra/a.test.ts'), '');
  writeFileSync(join(folder, 'infra/README.md'), '');
  expect(sourceState(folder)).toBe(before);
  writeFileSync(join(folder, 'infra/a.ts'), '');
  expect(sourceState(folder)).not.toBe(before);
});
