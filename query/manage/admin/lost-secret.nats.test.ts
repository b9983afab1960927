import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { projectRoot } from '../../../infra/root.ts';
import { type NatsServer, startNatsServer } from '../../../infra/testing/nats-server.ts';
import type { ClientKey } from '../testing/manage-service.ts';
import { runAdmin } from './testing/admin-program.ts';
import { type QueryService, startQueryService } from './testing/query-service.ts';

/** The rule: a rotated secret stops working everywhere within 2 seconds. */
const IN_FORCE_MAX_MS = 2_000;
let nats: NatsServer;
let service: QueryService;
let folder = '';

beforeAll(async () => {
  nats = await startNatsServer();
  service = await startQueryService(nats.url);
  folder = mkdtempSync(join(tmpdir(), 'footfall-lost-'));
});

afterAll(async () => {
  await service.stop();
  await nats.stop();
  rmSync(folder, { recursive: true });
});

/** The root client that the first start of a service creates. */
async function firstRoot(): Promise<ClientKey> {
  const env = { ...process.env, NATS_URL: nats.url, DATA_DIR: folder };
  const program = join(projectRoot, 'dist/infra/accounts/first-start.js');
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
  return JSON.parse(stdout).credentials.clients.root;
}

test('whoever lost the secret of the only root client gets another, and the lost one opens nothing', async () => {
  const lost = await firstRoot();
  await expect.poll(() => service.status(lost)).toBe(200);

  const listed = JSON.parse((await runAdmin(nats.url, ['client', 'list', '--json'])).stdout).data;
  const { id } = listed.find(({ type }: { type: string }) => type === 'root');
  expect(id).toBe(lost.id);
  const { code, stdout } = await runAdmin(nats.url, ['client', 'rotate', id]);
  expect(code).toBe(0);
  const found = { id, secret: /sec_[0-9a-f]{40}/.exec(stdout)?.[0] ?? '' };

  await expect.poll(() => service.status(lost), { timeout: IN_FORCE_MAX_MS }).toBe(401);
  expect(await service.status(found)).toBe(200);
});

test('a client that was deleted or made is known to a running service', async () => {
  const args = ['client', 'create', '--team', 'team', '--type', 'root', '--json'];
  const made = JSON.parse((await runAdmin(nats.url, args)).stdout).data;
  await expect.poll(() => service.status(made), { timeout: IN_FORCE_MAX_MS }).toBe(200);
  expect((await runAdmin(nats.url, ['client', 'delete', made.id])).code).toBe(0);
  await expect.poll(() => service.status(made), { timeout: IN_FORCE_MAX_MS }).toBe(401);
});
