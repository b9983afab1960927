import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { must } from '../assert.ts';
import { Bus } from '../bus/bus.ts';
import type { KeyedBytes } from '../bus/keyed-bytes.ts';
import { encodeJson } from '../bus/mirror.ts';
import { ManualClock } from '../clock.ts';
import { createLogger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { Accounts, type Client, CONTROL_BUCKET, clientKeyOf } from './accounts.ts';
import { createSecret, hashSecret } from './client-auth.ts';
import { ClientGuard, type SecretVerdict } from './client-guard.ts';
import { CLIENT_USES_BUCKET } from './client-uses.ts';
import { FAILURE_WINDOW_MS, FAILURES_MAX } from './failed-logins.ts';

const HERE = '203.0.113.1';
const AT = '2026-01-01T00:00:00.000Z';
const log = createLogger('test', 'silent');

let nats: NatsServer;
let bus: Bus;
let bucket: KeyedBytes;
let accounts: Accounts;
let guard: ClientGuard;
const clock = new ManualClock(Date.parse(AT));
const metrics = new Metrics();

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'test' }, log);
  bucket = await bus.keyed(CONTROL_BUCKET);
  accounts = await Accounts.open(bus, log);
  guard = await open();
});

afterAll(async () => {
  await guard?.stop();
  accounts?.stop();
  await bus?.close();
  await nats?.stop();
});

beforeEach(() => clock.advance(2 * FAILURE_WINDOW_MS));

function open(): Promise<ClientGuard> {
  return ClientGuard.open({ accounts, bus, clock, log, metrics, service: 'test' });
}

interface Made {
  readonly client: Client;
  readonly secret: string;
}

/** Stores a client and returns its record as the mirror has it. */
async function makeClient(fields: object = {}): Promise<Made> {
  const secret = createSecret();
  const id = randomUUID();
  const record = {
    id,
    name: id,
    type: 'read',
    projectId: 'shop',
    teamId: 'team',
    createdAt: AT,
    updatedAt: AT,
  };
  await bucket.put(clientKeyOf(id), encodeJson({ ...record, secretHash: hashSecret(secret), ...fields }), 0);
  return { client: await mirrored(id, () => true), secret };
}

async function mirrored(id: string, isExpected: (client: Client) => boolean): Promise<Client> {
  await expect
    .poll(() => accounts.client(id) !== undefined && isExpected(must(accounts.client(id), id)))
    .toBe(true);
  return must(accounts.client(id), id);
}

const kindOf = ({ client }: Made, secret: string, address = HERE): SecretVerdict['kind'] =>
  guard.verify(client, secret, address).kind;

/** Counts the verdicts of each kind. */
function countKinds(verdicts: readonly SecretVerdict['kind'][]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of verdicts) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

const guess = (made: Made, times: number, address = HERE) =>
  countKinds(Array.from({ length: times }, () => kindOf(made, createSecret(), address)));

describe('a right secret', () => {
  test('is accepted at once and not counted, however many wrong ones come from its address and for its client', async () => {
    const made = await makeClient();
    expect(guess(made, FAILURES_MAX + 20)).toEqual({ wrong: FAILURES_MAX, limited: 20 });
    for (let index = 0; index < 2 * FAILURES_MAX; index += 1)
      expect(guard.verify(made.client, made.secret, HERE)).toEqual({ kind: 'right' });
    for (let index = 0; index < 2 * FAILURES_MAX; index += 1)
      expect(kindOf(made, createSecret(), `198.51.100.${index}`)).toBe('wrong');
    expect(guard.verify(made.client, made.secret, HERE)).toEqual({ kind: 'right' });
  });

  test('is wrong once it was rotated, and the next one is right, however often each was used', async () => {
    const made = await makeClient();
    expect([kindOf(made, made.secret), kindOf(made, made.secret)]).toEqual(['right', 'right']);
    const next = createSecret();
    const key = clientKeyOf(made.client.id);
    const stored = must(await bucket.get(key), key);
    const record = { ...made.client, secretHash: hashSecret(next) };
    await bucket.put(key, encodeJson(record), stored.revision);
    const client = await mirrored(made.client.id, ({ secretHash }) => secretHash === record.secretHash);
    for (let use = 0; use < 2; use += 1) {
      expect(kindOf({ ...made, client }, next)).toBe('right');
      expect(kindOf({ ...made, client }, made.secret)).toBe('wrong');
      expect(kindOf({ ...made, client }, `${next} `)).toBe('wrong');
    }
  });

  test('a wrong one shows what is left of its address, and a limited one when to retry', async () => {
    const made = await makeClient();
    expect(guard.verify(made.client, 'sec_wrong', HERE)).toEqual({
      kind: 'wrong',
      failures: {
        allowed: true,
        limit: FAILURES_MAX,
        remaining: FAILURES_MAX - 1,
        resetMs: FAILURE_WINDOW_MS,
      },
    });
    for (let index = 1; index < FAILURES_MAX; index += 1) guard.fail(HERE);
    expect(guard.fail(HERE)).toEqual({
      kind: 'limited',
      failures: { allowed: false, limit: FAILURES_MAX, remaining: 0, resetMs: FAILURE_WINDOW_MS },
    });
  });
});

describe('a client', () => {
  const admit = ({ client }: Made, scope: 'track' | 'insights' | 'export' | 'manage', address = HERE) =>
    guard.admit(client, { scope, address });

  test('may do everything from everywhere unless its record limits it', async () => {
    const made = await makeClient();
    for (const scope of ['track', 'insights', 'export', 'manage'] as const)
      expect(admit(made, scope, '')).toBeUndefined();
  });

  test('expires at a time, also with the right secret', async () => {
    const made = await makeClient({ expiresAt: new Date(clock.nowMs() + 1_000).toISOString() });
    expect(admit(made, 'insights')).toBeUndefined();
    clock.advance(999);
    expect(admit(made, 'insights')).toBeUndefined();
    clock.advance(1);
    expect(admit(made, 'insights')).toBe('expired');
    expect(kindOf(made, made.secret)).toBe('right');
  });

  test('may do only what its scopes name; one that this version does not know gives nothing', async () => {
    const made = await makeClient({ scopes: ['export', 'of-later'] });
    expect(admit(made, 'export')).toBeUndefined();
    expect([admit(made, 'insights'), admit(made, 'track')]).toEqual(['scope', 'scope']);
  });

  test('may be used only from the addresses of its list', async () => {
    const made = await makeClient({
      addresses: ['203.0.113.0/28', '2001:db8::/32', '198.51.100.9', 'broken'],
    });
    for (const address of ['203.0.113.15', '2001:db8:9::1', '198.51.100.9'])
      expect(admit(made, 'insights', address)).toBeUndefined();
    for (const address of ['203.0.113.16', '2001:db9::1', '198.51.100.8', ''])
      expect(admit(made, 'insights', address)).toBe('address');
  });
});

describe('the last use of a client', () => {
  const recordedOf = async (id: string) => {
    const bytes = (await (await bus.keyed(CLIENT_USES_BUCKET)).get(clientKeyOf(id)))?.bytes;
    return bytes === undefined ? undefined : JSON.parse(Buffer.from(bytes).toString('utf8'));
  };
  const revisionOf = async (id: string) =>
    (await (await bus.keyed(CLIENT_USES_BUCKET)).get(clientKeyOf(id)))?.revision;

  test('is recorded once a minute over all processes, known to all of them, and survives a restart', async () => {
    const { client } = await makeClient();
    const other = await open();
    const use = async () => {
      for (const each of [guard, other]) {
        for (let count = 0; count < 50; count += 1) each.admit(client, { scope: 'insights', address: HERE });
        await each.uses.record();
      }
    };
    const usedAt = clock.nowMs();
    await use();
    const first = await revisionOf(client.id);
    for (const each of [guard, other])
      await expect.poll(() => each.uses.usedAt(client.id)).toBe(new Date(usedAt).toISOString());
    for (let second = 1; second < 60; second += 1) {
      clock.advance(1_000);
      await use();
    }
    expect(await revisionOf(client.id)).toBe(first);
    clock.advance(1_000);
    await use();
    expect(await revisionOf(client.id)).not.toBe(first);
    expect(await recordedOf(client.id)).toMatchObject({ usedAt: new Date(usedAt + 60_000).toISOString() });
    await other.stop();
    const restarted = await open();
    expect(restarted.uses.usedAt(client.id)).toBe(new Date(usedAt + 60_000).toISOString());
    await restarted.stop();
  });

  test('is no use that was denied, and the last one of a burst is recorded when its minute is over', async () => {
    const { client } = await makeClient({ scopes: ['export'] });
    guard.admit(client, { scope: 'insights', address: HERE });
    await guard.uses.record();
    expect(await recordedOf(client.id)).toBeUndefined();
    guard.admit(client, { scope: 'export', address: HERE });
    await guard.uses.record();
    clock.advance(10_000);
    const last = new Date(clock.nowMs()).toISOString();
    guard.admit(client, { scope: 'export', address: HERE });
    await guard.uses.record();
    expect((await recordedOf(client.id)).usedAt).not.toBe(last);
    clock.advance(50_000);
    await guard.uses.record();
    expect((await recordedOf(client.id)).usedAt).toBe(last);
  });

  test('is removed with the client', async () => {
    const { client } = await makeClient();
    guard.admit(client, { scope: 'insights', address: HERE });
    await guard.uses.record();
    expect(await recordedOf(client.id)).toBeDefined();
    guard.admit(client, { scope: 'insights', address: HERE });
    await bucket.remove(clientKeyOf(client.id));
    await expect.poll(() => recordedOf(client.id)).toBeUndefined();
    clock.advance(60_000);
    await guard.uses.record();
    expect(await recordedOf(client.id)).toBeUndefined();
  });
});
