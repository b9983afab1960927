import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bus } from '../../../infra/bus/bus.ts';
import { systemClock } from '../../../infra/clock.ts';
import { createLogger } from '../../../infra/log.ts';
import { type NatsServer, startNatsServer } from '../../../infra/testing/nats-server.ts';
import { AuditLog } from '../../audit/audit-log.ts';
import { runAdmin } from './testing/admin-program.ts';

let nats: NatsServer;
let bus: Bus;
let folder = '';

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'test' }, createLogger('test', 'silent'));
  folder = mkdtempSync(join(tmpdir(), 'footfall-admin-audit-'));
});

afterAll(async () => {
  await bus.close();
  await nats.stop();
  rmSync(folder, { recursive: true });
});

/** The `data` that a successful command prints. */
async function output(...args: string[]) {
  const { code, stdout, stderr } = await runAdmin(nats.url, [...args, '--json']);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^bus: [^\n]*\n$/)]);
  return JSON.parse(stdout).data;
}

async function logged(teamId: string) {
  const log = await AuditLog.open(bus, systemClock);
  const options = { before: Number.MAX_SAFE_INTEGER, limit: 100, isWanted: () => true };
  const { entries } = await log.page(teamId, 'changes', options);
  return entries.map(({ version: _version, number: _number, id: _id, at: _at, ...entry }) => entry);
}

test('each command that changes something is in the audit log of its team, without a secret', async () => {
  const { id: team, client: root } = await output('team', 'create', 'Ladders');
  const made = await output('client', 'create', '--team', team, '--type', 'root', '--name', 'Second');
  await output('client', 'rotate', made.id);
  await output('client', 'list');
  await output('client', 'delete', made.id);
  const again = await runAdmin(nats.url, ['client', 'delete', made.id]);
  expect(again.code).toBe(1);
  // The last root client cannot be deleted.
  expect((await runAdmin(nats.url, ['client', 'delete', root.id])).code).toBe(1);
  const file = join(folder, 'backup');
  expect((await runAdmin(nats.url, ['backup', file])).code).toBe(0);
  expect((await runAdmin(nats.url, ['restore', file, '--replace'])).code).toBe(0);

  const common = { actor: 'admin', clientId: null, clientName: null, projectId: null, profileDigest: null };
  const none = { ids: {}, fields: [], made: null, status: 200 };
  expect(await logged(team)).toEqual([
    { ...common, ...none, action: 'admin restore' },
    { ...common, ...none, action: 'admin client delete', ids: { clientId: root.id }, status: 500 },
    { ...common, ...none, action: 'admin client delete', ids: { clientId: made.id } },
    { ...common, ...none, action: 'admin client rotate', ids: { clientId: made.id } },
    {
      ...common,
      ...none,
      action: 'admin client create',
      fields: ['--team', '--type', '--name'],
      made: made.id,
    },
    { ...common, ...none, action: 'admin team create', made: root.id },
  ]);
});
