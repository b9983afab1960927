import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  CONTROL_BUCKET,
  clientKeyOf,
  clientSchema,
  encodeRecord,
  siteKeyOf,
  siteSchema,
} from '../../../infra/accounts/accounts.ts';
import { matchesSecret } from '../../../infra/accounts/client-auth.ts';
import { Bus } from '../../../infra/bus/bus.ts';
import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { createLogger } from '../../../infra/log.ts';
import { agreeOnLanes, openLayouts, storedLayout, storeLayout } from '../../../infra/process/agreed-lanes.ts';
import { storedId } from '../../../infra/testing/ids.ts';
import { type NatsServer, startNatsServer } from '../../../infra/testing/nats-server.ts';
import { ALIASES_BUCKET, aliasKeyOf, encodeAlias } from '../../../ingest/entity-update.ts';
import { contentsOf, type Ran, runAdmin } from './testing/admin-program.ts';

const AT = '2026-01-01T00:00:00.000Z';
const SECRET = /sec_[0-9a-f]{40}/g;
let nats: NatsServer;
let bus: Bus;
let bucket: KeyedBytes;
let folder = '';

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'test' }, createLogger('test', 'silent'));
  bucket = await bus.keyed(CONTROL_BUCKET);
  folder = mkdtempSync(join(tmpdir(), 'footfall-admin-'));
});

afterAll(async () => {
  await bus.close();
  await nats.stop();
  rmSync(folder, { recursive: true });
});

async function admin(...args: string[]): Promise<Ran> {
  return runAdmin(nats.url, args);
}

/** The `data` that a successful command prints with `--json`. */
async function output(...args: string[]) {
  const { code, stdout, stderr } = await admin(...args, '--json');
  expect(stderr).toBe(`bus: nats://127.0.0.1:${nats.port} (NATS_URL)\n`);
  expect(code).toBe(0);
  return JSON.parse(stdout).data;
}

async function storedClient(id: string) {
  const stored = await bucket.get(clientKeyOf(id));
  return stored?.bytes === undefined
    ? undefined
    : clientSchema.parse(JSON.parse(Buffer.from(stored.bytes).toString('utf8')));
}

async function lets(id: string, secret: string): Promise<boolean> {
  const client = await storedClient(id);
  return client !== undefined && matchesSecret(client.secretHash, secret);
}

async function makeSite(id: string, teamId: string, deletion: object | null = null): Promise<void> {
  const site = siteSchema.parse({
    id,
    teamId,
    name: `${id}.example`,
    createdAt: AT,
    updatedAt: AT,
    deletion,
  });
  await bucket.put(siteKeyOf(id), encodeRecord(site), 0);
}

test('team create makes a root client and shows its secret once', async () => {
  const { code, stdout, stderr } = await admin('team', 'create', 'Müller & Söhne');
  expect(code).toBe(0);
  expect(stderr).toBe(`bus: nats://127.0.0.1:${nats.port} (NATS_URL)\n`);
  expect(stdout).toMatch(/^team muller-sohne created, with a root client$/m);
  expect(stdout.match(SECRET)).toHaveLength(1);
  const id = /client {2}(\S+)/.exec(stdout)?.[1] ?? '';
  const secret = stdout.match(SECRET)?.[0] ?? '';
  expect(await lets(id, secret)).toBe(true);
  expect(await storedClient(id)).toMatchObject({ type: 'root', projectId: null, teamId: 'muller-sohne' });
  expect(await output('team', 'create', 'Müller & Söhne')).toMatchObject({
    id: 'muller-sohne-2',
    name: 'Müller & Söhne',
    client: { type: 'root', teamId: 'muller-sohne-2', secret: expect.stringMatching(SECRET) },
  });
  expect(await output('team', 'create', '株式会社')).toMatchObject({ id: 'team' });
});

test('team list counts sites and clients', async () => {
  await makeSite('shop', 'team');
  await output('client', 'create', '--team', 'team', '--type', 'write', '--site', 'shop');
  const teams = await output('team', 'list');
  expect(teams).toHaveLength(3);
  expect(teams).toContainEqual(
    expect.objectContaining({ id: 'team', name: '株式会社', sites: 1, clients: 2, rootClients: 1 }),
  );
  const { stdout } = await admin('team', 'list');
  const lines = stdout.split('\n');
  expect(lines[0]).toBe('TEAM            NAME            SITES  CLIENTS  ROOT CLIENTS  CREATED');
  expect(lines).toContainEqual(
    expect.stringMatching(/^muller-sohne {4}Müller & Söhne {2}0 {6}1 {8}1 {13}\d{4}-/),
  );
  expect(lines.at(-2)).toBe('3 teams');
});

test('a client is created, listed, rotated and deleted', async () => {
  const made = await output(
    'client',
    'create',
    '--team',
    'team',
    '--type',
    'read',
    '--site',
    'shop',
    '--name',
    'Board',
  );
  expect(made).toMatchObject({ name: 'Board', type: 'read', teamId: 'team', projectId: 'shop' });
  expect(await lets(made.id, made.secret)).toBe(true);

  const listed = await output('client', 'list', '--site', 'shop');
  expect(listed.map(({ name }: { name: string }) => name)).toEqual(['Board', 'write client']);
  const { secret: _, ...shown } = made;
  expect(listed[0]).toEqual(shown);
  expect((await output('client', 'list', '--team', 'muller-sohne')).length).toBe(1);
  expect((await output('client', 'list')).length).toBe(5);

  const { code, stdout } = await admin('client', 'rotate', made.id.toUpperCase());
  expect(code).toBe(0);
  expect(stdout.match(SECRET)).toHaveLength(1);
  expect(await lets(made.id, made.secret)).toBe(false);
  expect(await lets(made.id, stdout.match(SECRET)?.[0] ?? '')).toBe(true);

  expect((await admin('client', 'delete', made.id)).code).toBe(0);
  expect(await storedClient(made.id)).toBeUndefined();
  expect(await admin('client', 'rotate', made.id)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('list the known ones with "client list"\n'),
  });
});

test('the last root client of a team cannot be deleted, but one of two can', async () => {
  const roots = async () =>
    (await output('client', 'list', '--team', 'team')).filter(
      ({ type }: { type: string }) => type === 'root',
    );
  const [last] = await roots();
  const rejected = await admin('client', 'delete', last.id);
  expect(rejected).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('last root client of team team'),
  });
  expect(await storedClient(last.id)).toBeDefined();
  await output('client', 'create', '--team', 'team', '--type', 'root');
  expect((await admin('client', 'delete', last.id)).code).toBe(0);
  expect(await roots()).toMatchObject([{ name: 'root client' }]);
});

test('site list shows the progress of deletions', async () => {
  const deletion = { requestedAt: AT, purgeAt: '2026-01-02T00:00:00.000Z' };
  await makeSite('waiting', 'team', { ...deletion, status: 'waiting' });
  await makeSite('purging', 'team', { ...deletion, status: 'purging', step: 'events' });
  await makeSite('purged', 'team', { ...deletion, status: 'purged', finishedAt: '2026-01-03T00:00:00.000Z' });
  await makeSite('elsewhere', 'muller-sohne');
  const { stdout } = await admin('site', 'list', '--team', 'team');
  const states = stdout.split('\n').map((line) => line.split(/ {2,}/)[3]);
  expect(states).toEqual([
    'STATE',
    'purged 2026-01-03T00:00:00.000Z',
    'purging: events',
    'active',
    'deleted, purge from 2026-01-02T00:00:00.000Z',
    undefined,
    undefined,
  ]);
  const all = await output('site', 'list');
  expect(all).toHaveLength(5);
  expect(all[0]).toMatchObject({ id: 'elsewhere', deletion: null });
});

test('site restore undoes a deletion until the purge begins', async () => {
  const deletion = { requestedAt: AT, purgeAt: '2126-01-02T00:00:00.000Z', status: 'waiting' };
  const sites = {
    undone: deletion,
    final: { ...deletion, isFinal: true },
    begun: { ...deletion, status: 'purging' },
    present: null,
  };
  for (const [id, state] of Object.entries(sites)) await makeSite(id, 'muller-sohne', state);
  const listed = (await admin('site', 'list', '--team', 'muller-sohne')).stdout;
  expect(listed).toMatch(/^undone .*deleted, purge from 2126-01-02T00:00:00.000Z/m);
  expect(listed).toMatch(/^final .*deleted for good, purge from 2126-01-02T00:00:00.000Z/m);
  const { code, stdout } = await admin('site', 'restore', 'undone');
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^site undone restored; its purge was due at 2126-01-02T00:00:00.000Z\n$/),
  });
  expect(
    (await output('site', 'list', '--team', 'muller-sohne')).find(
      ({ id }: { id: string }) => id === 'undone',
    ),
  ).toMatchObject({ deletion: null });
  for (const [id, reason] of [
    ['undone', 'not deleted'],
    ['final', 'cannot be undone'],
    ['begun', 'purge'],
    ['none', 'unknown site "none"'],
  ] as const) {
    const before = await contentsOf(bus);
    expect(await admin('site', 'restore', id)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(reason),
    });
    expect(await contentsOf(bus)).toEqual(before);
  }
  for (const id of Object.keys(sites)) await bucket.remove(siteKeyOf(id)); // The other tests count sites.
});

test('clients of a deleted site are marked, and those of a purged one are gone', async () => {
  const deletion = { requestedAt: AT, purgeAt: '2026-01-02T00:00:00.000Z' };
  const ids: string[] = [];
  for (const status of ['waiting', 'purged'] as const) {
    const site = `clients-of-${status}`;
    await makeSite(site, 'team');
    const made = await output('client', 'create', '--team', 'team', '--type', 'read', '--site', site);
    ids.push(made.id);
    const stored = await bucket.get(siteKeyOf(site));
    const record = JSON.parse(Buffer.from(stored?.bytes ?? '').toString('utf8'));
    await bucket.put(
      siteKeyOf(site),
      encodeRecord({ ...record, deletion: { ...deletion, status } }),
      stored?.revision ?? 0,
    );
  }
  const [waiting, purged] = ids;
  const listed = (await output('client', 'list')).map(({ id }: { id: string }) => id);
  expect(listed).toContain(waiting);
  expect(listed).not.toContain(purged);
  const { stdout } = await admin('client', 'list');
  expect(stdout).toContain('clients-of-waiting (deleted)');
  expect((await admin('client', 'rotate', purged ?? '')).code).toBe(1);
  expect((await admin('client', 'delete', waiting ?? '')).code).toBe(0);
  // The other tests count sites and clients.
  for (const key of [
    clientKeyOf(purged ?? ''),
    siteKeyOf('clients-of-waiting'),
    siteKeyOf('clients-of-purged'),
  ])
    await bucket.remove(key);
});

test.each([
  [1, ['client', 'create', '--team', 'none', '--type', 'root'], 'unknown team "none"'],
  [
    1,
    ['client', 'create', '--team', 'team', '--type', 'read', '--site', 'elsewhere'],
    'belongs to team muller-sohne',
  ],
  [
    1,
    ['client', 'create', '--team', 'team', '--type', 'read', '--site', 'waiting'],
    'site waiting is deleted',
  ],
  [1, ['client', 'list', '--site', 'none'], 'unknown site "none"'],
  [1, ['site', 'list', '--team', 'none'], 'unknown team "none"'],
  [2, ['client', 'create', '--team', 'team', '--type', 'read'], '--site: missing'],
  [
    2,
    ['client', 'create', '--team', 'team', '--type', 'root', '--site', 'shop'],
    '--site: not allowed for a root client',
  ],
  [2, ['client', 'create', '--team', 'team', '--type', 'owner'], '--type: '],
  [2, ['client', 'create', '--type', 'root'], 'client create needs --team and --type'],
  [2, ['team', 'create', ' '], '<name>: expected a non-empty string'],
  [2, ['team', 'destroy'], 'unknown command "team destroy"'],
])('exit code %i: %j', async (code, args, message) => {
  const before = await contentsOf(bus);
  const ran = await admin(...args);
  expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
  const errors = ran.stderr.split('\n').filter((line) => line.startsWith('admin: '));
  expect(errors).toHaveLength(1);
  expect(await contentsOf(bus)).toEqual(before);
});

test('hashes and control characters are never printed', async () => {
  const [client] = await output('client', 'list');
  const stored = await bucket.get(clientKeyOf(client.id));
  const renamed = { ...(await storedClient(client.id)), name: 'a\u{1B}[2Jb\nc' };
  await bucket.put(clientKeyOf(client.id), Buffer.from(JSON.stringify(renamed)), stored?.revision ?? 0);
  for (const command of ['team', 'site', 'client']) {
    for (const form of [[], ['--json']]) {
      const { stdout, stderr } = await admin(command, 'list', ...form);
      expect(stdout + stderr).not.toMatch(/scrypt|hmac-|secretHash|sec_/);
      expect(stdout + stderr).not.toContain('\u{1B}');
    }
  }
  expect((await admin('client', 'list')).stdout).toContain('a\u{FFFD}[2Jb\u{FFFD}c');
});

test('a service grows to a multiple of its lanes, and is waited for; other numbers are refused', async () => {
  const none = await admin('lane', 'count');
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('no service has run on this bus')]);
  await agreeOnLanes(bus, { lanes: 2, storeShards: 1 });
  expect(await output('lane', 'count')).toEqual({ lanes: 2, growingTo: null });
  for (const [number, why] of [
    ['3', 'their number can only be multiplied'],
    ['1', 'their number can only be multiplied'],
    ['64', 'expected a number from 1 to 32'],
    ['four', 'expected a number from 1 to 32'],
  ] as const)
    expect((await admin('lane', 'grow', number)).stderr).toContain(why);
  expect(await output('lane', 'grow', '2')).toEqual({ lanes: 2, before: 2 });

  const growing = output('lane', 'grow', '4');
  await expect.poll(() => output('lane', 'count')).toEqual({ lanes: 2, growingTo: 4 });
  expect((await admin('lane', 'grow', '8')).stderr).toContain('growing to 4 lanes: wait for that first');
  // Done by a processor in a service.
  const layouts = await openLayouts(bus);
  const stored = await storedLayout(layouts);
  await storeLayout(
    layouts,
    { lanes: 4, storeShards: 1, isGrown: true, growingTo: undefined },
    stored?.revision ?? 0,
  );
  expect(await growing).toEqual({ lanes: 4, before: 2 });

  const refused = admin('lane', 'grow', '8');
  await expect.poll(() => output('lane', 'count')).toEqual({ lanes: 4, growingTo: 8 });
  const asked = await storedLayout(layouts);
  await storeLayout(
    layouts,
    { lanes: 4, storeShards: 1, isGrown: true, growingTo: undefined },
    asked?.revision ?? 0,
  );
  expect((await refused).stderr).toContain('the log of the processor says why it did not grow');
});

test('help exits with 0', async () => {
  const { code, stdout, stderr } = await admin('--help');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('restore <file> [--replace]');
});

test('the bus is that of NATS_URL or else of DATA_DIR, and its password is not shown', async () => {
  const list = ['team', 'list'];
  const unset = await runAdmin('', list, { DATA_DIR: folder });
  expect(unset).toMatchObject({ code: 1, stdout: '' });
  expect(unset.stderr).toBe(`admin: no service has run on ${folder}; set DATA_DIR or NATS_URL\n`);

  mkdirSync(join(folder, 'bus'));
  writeFileSync(join(folder, 'bus/url'), nats.url.replace('//', '//somebody:hidden@'));
  const found = await runAdmin('', list, { DATA_DIR: folder });
  expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining('3 teams') });
  expect(found.stderr).toBe(`bus: nats://127.0.0.1:${nats.port} (DATA_DIR ${folder})\n`);

  const away = await runAdmin('nats://somebody:hidden@127.0.0.1:1', list);
  expect(away).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('start the service') });
  expect(found.stderr + away.stderr).not.toContain('hidden');
  expect(await runAdmin('elsewhere', list)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('NATS_URL: expected a URL'),
  });
});

test('aliases of a site are listed and undone', async () => {
  const aliases = await bus.keyed(ALIASES_BUCKET);
  for (const [alias, profileId, verified] of [
    ['anon 1', 'ada', true],
    ['victim', 'attacker', false],
  ] as const) {
    const record = { projectId: storedId('shop'), alias, profileId, verified, createdAt: AT };
    await aliases.put(aliasKeyOf(record), encodeAlias(record), 0);
  }
  const { stdout } = await admin('alias', 'list', '--site', 'shop');
  expect(stdout.split('\n')).toEqual([
    'ALIAS   PROFILE   VERIFIED  CREATED',
    `anon 1  ada       yes       ${AT}`,
    `victim  attacker  no        ${AT}`,
    '2 aliases',
    '',
  ]);
  const victim = { alias: 'victim', profileId: 'attacker', verified: false, createdAt: AT };
  expect(await output('alias', 'list', '--site', 'shop', '--unverified')).toEqual([victim]);
  expect(await output('alias', 'list', '--site', 'shop', '--profile', 'ada')).toHaveLength(1);
  expect(await output('alias', 'undo', 'victim', '--site', 'shop')).toEqual(victim);
  expect(await output('alias', 'list', '--site', 'shop', '--unverified')).toEqual([]);
  const again = await admin('alias', 'undo', 'victim', '--site', 'shop');
  expect(again.code).toBe(1);
  expect(again.stderr).toMatch(/unknown alias "victim"; list the known ones with "alias list --site shop"/);
  expect((await admin('alias', 'list')).code).toBe(2);
});
