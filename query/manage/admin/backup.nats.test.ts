import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Accounts, siteKeyOf } from '../../../infra/accounts/accounts.ts';
import { Bus } from '../../../infra/bus/bus.ts';
import { Mirror } from '../../../infra/bus/mirror.ts';
import { createLogger } from '../../../infra/log.ts';
import { type NatsServer, startNatsServer } from '../../../infra/testing/nats-server.ts';
import { startCollector } from '../../../ingest/testing/collector.ts';
import { Catalog } from '../catalog.ts';
import { CHECKED_PREFIXES } from './record-kinds.ts';
import { contentsOf, managedOf, runAdmin } from './testing/admin-program.ts';
import { startQueryService } from './testing/query-service.ts';
import {
  aliasEntry,
  clientEntry,
  entry,
  erasureEntry,
  keptEntries,
  siteEntry,
  store,
  teamEntry,
} from './testing/records.ts';

const log = createLogger('test', 'silent');
let folder = '';
let file = '';
/** The bus that is backed up, and the bus that the backup is restored to. */
let from: NatsServer;
let to: NatsServer;
let source: Bus;
let target: Bus;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-backup-'));
});

beforeEach(async () => {
  file = join(folder, `${randomUUID()}.json`);
  [from, to] = await Promise.all([startNatsServer(), startNatsServer()]);
  source = await Bus.connect({ url: from.url, name: 'source' }, log);
  target = await Bus.connect({ url: to.url, name: 'target' }, log);
});

afterEach(async () => {
  await source.close();
  await target.close();
  await from.stop();
  await to.stop();
});

afterAll(() => rmSync(folder, { recursive: true }));

function saltsIn(contents: ReadonlyMap<string, string>): string[] {
  return [...contents].filter(([path]) => path.startsWith('control/salt.')).map(([, salt]) => salt);
}

test('a backup restores records, aliases and secrets on another bus, but no salts', async () => {
  const root = await clientEntry('root', 'team', null);
  const write = await clientEntry('write', 'team', 'demo');
  await store(source, [
    siteEntry('demo', 'team', { cors: ['*'] }),
    siteEntry('Käse/é', 'team'),
    root.entry,
    write.entry,
    ...keptEntries('demo'),
    erasureEntry(randomUUID(), 'demo', 'done'),
    teamEntry('team'),
  ]);
  const collector = await startCollector(from.url);
  const aliased = await fetch(`${collector.url}/track`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'service-client-id': write.key.id,
      'service-client-secret': write.key.secret,
    },
    body: JSON.stringify({ type: 'alias', payload: { profileId: 'ada', alias: 'anon/ü 1' } }),
  });
  expect(aliased.status).toBe(200);
  await collector.stop();
  const before = await contentsOf(source);
  const salts = saltsIn(before);
  expect(salts.length).toBeGreaterThan(0);
  expect(before.size).toBe(salts.length + 13);

  const made = await runAdmin(from.url, ['backup', file, '--json']);
  expect(made.code).toBe(0);
  expect(JSON.parse(made.stdout)).toMatchObject({
    file,
    leftOut: 0,
    counts: {
      ...{ alias: 1, client: 2, dashboard: 1, erasure: 1, goal: 1 },
      ...{ reference: 1, segment: 1, site: 2, team: 1, wish: 2 },
    },
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = readFileSync(file, 'utf8');
  expect(text).not.toMatch(/salt\./);
  for (const salt of salts) expect(text).not.toContain(salt);
  expect(text).not.toContain(root.key.secret);

  const restored = await runAdmin(to.url, ['restore', file]);
  expect(restored.stderr).toContain('not checked: 2 entries of unknown kind wish');
  expect(restored.code).toBe(0);
  expect(await managedOf(target)).toEqual(await managedOf(source));
  expect(saltsIn(await contentsOf(target))).toEqual([]);
  const service = await startQueryService(to.url);
  expect(await service.status(root.key)).toBe(200);
  await service.stop();

  // A second restore has nothing to do.
  const again = await runAdmin(to.url, ['restore', file, '--json']);
  expect(again.code).toBe(0);
  expect(JSON.parse(again.stdout)).toMatchObject({ written: 0, removed: 0, unchanged: 13 });
});

test('a bus with teams is changed only with --replace, which keeps the salts', async () => {
  const old = await clientEntry('root', 'team', null);
  const entries = [teamEntry('team'), siteEntry('demo', 'team'), aliasEntry('demo', 'a', 'ada'), old.entry];
  await store(source, entries);
  expect((await runAdmin(from.url, ['backup', file])).code).toBe(0);

  const later = await clientEntry('root', 'team', null);
  const erasure = randomUUID();
  await store(target, [
    teamEntry('team'),
    teamEntry('sister'),
    siteEntry('demo', 'team', { timezone: 'Europe/Berlin' }),
    siteEntry('shop', 'sister'),
    aliasEntry('demo', 'a', 'somebody'),
    aliasEntry('shop', 'b', 'somebody'),
    erasureEntry(erasure, 'shop', 'waiting'),
    later.entry,
  ]);
  const collector = await startCollector(to.url);
  const service = await startQueryService(to.url);
  const before = await contentsOf(target);
  expect(saltsIn(before).length).toBeGreaterThan(0);
  expect(await service.status(later.key)).toBe(200);

  const rejected = await runAdmin(to.url, ['restore', file]);
  expect(rejected).toMatchObject({ code: 1, stdout: '' });
  expect(rejected.stderr).toContain('this bus already has 2 teams; nothing was written; use --replace');
  expect(await contentsOf(target)).toEqual(before);

  const replaced = await runAdmin(to.url, ['restore', file, '--replace', '--json']);
  expect(replaced.code).toBe(0);
  expect(JSON.parse(replaced.stdout)).toMatchObject({ written: 3, removed: 5, unchanged: 1 });
  expect(replaced.stderr).toContain(`unfinished request erasure.${erasure} is not in the file`);
  expect(await managedOf(target)).toEqual(await managedOf(source));
  expect(saltsIn(await contentsOf(target))).toEqual(saltsIn(before));
  // A running service follows.
  await expect.poll(() => service.status(later.key)).toBe(401);
  expect(await service.status(old.key)).toBe(200);
  await service.stop();
  await collector.stop();
});

test('an unreadable record is skipped and reported, and the backup can be restored', async () => {
  const { entry: client, key } = await clientEntry('root', 'team', null);
  await store(source, [
    teamEntry('team'),
    client,
    entry('control', siteKeyOf('torn'), { id: 'torn' }),
    entry('control', siteKeyOf('other'), JSON.parse(Buffer.from(siteEntry('demo', 'team').bytes).toString())),
  ]);
  const made = await runAdmin(from.url, ['backup', file]);
  expect(made.code).toBe(1);
  expect(made.stdout).toContain('2 entries skipped');
  expect(made.stderr).toContain('skipped unreadable entry control/site.torn: teamId: ');
  expect(made.stderr).toContain('skipped unreadable entry control/site.other: its id does not match its key');
  expect((await runAdmin(to.url, ['restore', file])).code).toBe(0);
  const service = await startQueryService(to.url);
  expect(await service.status(key)).toBe(200);
  await service.stop();
});

test('a bus without a team gives no backup', async () => {
  await store(source, [siteEntry('demo', 'team')]);
  const { code, stderr } = await runAdmin(from.url, ['backup', file]);
  expect(code).toBe(1);
  expect(stderr).toContain('this bus has no team; nothing was written');
  await store(source, [teamEntry('team')]);
  expect((await runAdmin(from.url, ['backup', file])).code).toBe(0);
  // An existing file is never overwritten.
  const before = readFileSync(file);
  expect(await runAdmin(from.url, ['backup', file])).toMatchObject({ code: 1, stdout: '' });
  expect(readFileSync(file).equals(before)).toBe(true);
});

test('every kind of record that the service reads is checked on restore', async () => {
  const accounts = await Accounts.open(source, log);
  const catalog = await Catalog.open(source, log);
  const mirrors = [...Object.values(accounts), ...Object.values(catalog)].filter(
    (part) => part instanceof Mirror,
  );
  expect(mirrors.length).toBeGreaterThan(3);
  expect([...CHECKED_PREFIXES].sort()).toEqual(mirrors.map(({ prefix }) => prefix).sort());
  accounts.stop();
  catalog.stop();
});
