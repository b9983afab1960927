import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { siteKeyOf, teamKeyOf } from '../../../infra/accounts/accounts.ts';
import { Bus } from '../../../infra/bus/bus.ts';
import { systemClock } from '../../../infra/clock.ts';
import { createLogger } from '../../../infra/log.ts';
import { type NatsServer, startNatsServer } from '../../../infra/testing/nats-server.ts';
import { AuditLog } from '../../audit/audit-log.ts';
import { writeBackup } from './backup-file.ts';
import { type ControlEntry, openControlPlane } from './control-plane.ts';
import { restore } from './restore.ts';
import { contentsOf, runAdmin, startAdmin } from './testing/admin-program.ts';
import { aliasEntry, clientEntry, entry, siteEntry, store, teamEntry } from './testing/records.ts';

const AT = '2026-01-01T00:00:00.000Z';
const MANY = 5_000;
let nats: NatsServer;
let bus: Bus;
let folder = '';
let file = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-restore-'));
});

beforeEach(async () => {
  file = join(folder, `${randomUUID()}.json`);
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'test' }, createLogger('test', 'silent'));
});

afterEach(async () => {
  await bus.close();
  await nats.stop();
});

afterAll(() => rmSync(folder, { recursive: true }));

function asContents(entries: readonly ControlEntry[]): Record<string, string> {
  const all = entries.map(({ bucket, key, bytes }) => [
    `${bucket}/${key}`,
    Buffer.from(bytes).toString('base64'),
  ]);
  return Object.fromEntries(all);
}

test('a damaged or invalid file is rejected and changes nothing', async () => {
  const { entry: client } = await clientEntry('root', 'team', null);
  const good = [teamEntry('team'), siteEntry('demo', 'team'), client];
  const asText = (change: (text: string) => string) => {
    writeBackup(file, good, AT);
    writeFileSync(file, change(readFileSync(file, 'utf8')));
  };
  const demo = JSON.parse(Buffer.from(siteEntry('demo', 'team').bytes).toString('utf8'));
  const cases: [name: string, make: () => void, message: string][] = [
    [
      'a bit is flipped',
      () => asText((text) => text.replace('"name":"demo"', '"name":"demn"')),
      'is damaged',
    ],
    [
      'it is truncated',
      () => {
        writeBackup(file, good, AT);
        truncateSync(file, 500);
      },
      'is damaged',
    ],
    [
      'it is of another version',
      () => asText((text) => text.replace('"version": 1', '"version": 9')),
      'has version 9',
    ],
    ['it is something else', () => writeFileSync(file, '{"teams":[]}'), 'is not a backup'],
    ['it does not exist', () => {}, 'cannot read'],
    ['it has no team', () => writeBackup(file, good.slice(1), AT), 'has no team'],
    [
      'a site lies under the key of another',
      () => writeBackup(file, [...good, entry('control', siteKeyOf('shop'), demo)], AT),
      'control/site.shop: its id does not match its key',
    ],
    [
      'a record lacks a field',
      () => writeBackup(file, [...good, entry('control', teamKeyOf('b'), { id: 'b', name: 'B' })], AT),
      'control/team.b: createdAt: ',
    ],
    [
      'a record is no JSON',
      () => writeBackup(file, [...good, { bucket: 'control', key: 'site.x', bytes: Buffer.from('{') }], AT),
      'control/site.x: Invalid input: expected object',
    ],
    [
      'it has a salt',
      () => writeBackup(file, [...good, entry('control', 'salt.2026-01-01', 'x')], AT),
      'a backup must not contain salts',
    ],
  ];
  await store(bus, [siteEntry('here', 'team')]);
  const plane = await openControlPlane(bus);
  const audit = await AuditLog.open(bus, systemClock);
  const before = await contentsOf(bus);
  for (const [name, make, message] of cases) {
    rmSync(file, { force: true });
    make();
    for (const replace of [false, true]) {
      await expect(restore(plane, audit, { file, replace, writeNote: () => {} }), name).rejects.toThrow(
        message,
      );
      expect(await contentsOf(bus), name).toEqual(before);
    }
  }
  const rejected = await runAdmin(nats.url, ['restore', file]);
  expect(rejected).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`admin: ${file}: `),
  });
  rmSync(file, { force: true });
  writeBackup(file, good, AT);
  expect((await runAdmin(nats.url, ['restore', file])).code).toBe(0);
  expect(Object.fromEntries(await contentsOf(bus))).toEqual(asContents(good));
});

test('a killed restore has written no team and is completed by repeating it', async () => {
  const { entry: client } = await clientEntry('root', 'team', null);
  const aliases = Array.from({ length: MANY }, (_, index) => aliasEntry('demo', `anon-${index}`, 'ada'));
  const entries = [teamEntry('team'), teamEntry('sister'), ...aliases, siteEntry('demo', 'team'), client];
  writeBackup(file, entries, AT);

  const child = startAdmin(nats.url, ['restore', file]);
  const ended = once(child, 'exit');
  let seen = 0;
  const stop = await (await bus.keyed('aliases')).watch(() => {
    seen += 1;
    if (seen === 300) child.kill('SIGKILL');
  });
  expect((await ended)[1]).toBe('SIGKILL');
  stop();
  const half = await contentsOf(bus);
  expect(half.size).toBeGreaterThanOrEqual(300);
  expect(half.size).toBeLessThan(entries.length);
  expect([...half.keys()].filter((path) => path.startsWith('control/team.'))).toEqual([]);

  const again = await runAdmin(nats.url, ['restore', file]);
  expect(again.code).toBe(0);
  expect(again.stderr).toMatch(/^written 1000 of \d+$/m);
  expect(Object.fromEntries(await contentsOf(bus))).toEqual(asContents(entries));

  // A restore interrupted between the teams: the remaining teams may follow without --replace, since no entry changes.
  await (await bus.keyed('control')).remove(teamKeyOf('sister'));
  const last = await runAdmin(nats.url, ['restore', file, '--json']);
  expect(JSON.parse(last.stdout)).toMatchObject({ written: 1, removed: 0, unchanged: entries.length - 1 });
  expect(Object.fromEntries(await contentsOf(bus))).toEqual(asContents(entries));
});

test('a bus that fails during a restore is reported in one line, and a repeated restore completes it', async () => {
  const { entry: client } = await clientEntry('root', 'team', null);
  const aliases = Array.from({ length: MANY }, (_, index) => aliasEntry('demo', `anon-${index}`, 'ada'));
  const entries = [...aliases, teamEntry('team'), client];
  writeBackup(file, entries, AT);
  const running = runAdmin(nats.url, ['restore', file]);
  let seen = 0;
  const stop = await (await bus.keyed('aliases')).watch(() => {
    seen += 1;
    if (seen === 300) void nats.kill();
  });
  const { code, stdout, stderr } = await running;
  stop();
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /^admin: bus: put \S+: .*; check that the bus is running, then repeat the command\n$/m,
  );
  await nats.restart();
  await expect.poll(() => bus.connected).toBe(true);
  expect((await runAdmin(nats.url, ['restore', file])).code).toBe(0);
  expect(Object.fromEntries(await contentsOf(bus))).toEqual(asContents(entries));
});

test('a restore removes what an interrupted first start left behind', async () => {
  const { entry: stale } = await clientEntry('root', 'team', null);
  const { entry: client } = await clientEntry('root', 'team', null);
  await store(bus, [siteEntry('demo', 'team'), stale]);
  const entries = [teamEntry('team'), client];
  writeBackup(file, entries, AT);
  expect((await runAdmin(nats.url, ['restore', file])).code).toBe(0);
  expect(Object.fromEntries(await contentsOf(bus))).toEqual(asContents(entries));
});
