import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Bus } from '../../infra/bus/bus.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import {
  decodeEntityQuestion,
  type EntityAnswer,
  type EntityQuestion,
  encodeEntityAnswer,
  encodeEntityQuestion,
  entityLookupSubjectOf,
} from '../entity-lookup.ts';
import {
  ALIASES_BUCKET,
  aliasKeyOf,
  decodeAlias,
  decodeEntityUpdates,
  type EntityUpdate,
  entityStreamOf,
} from '../entity-update.ts';
import { decodeMessageHead, LANES_DEFAULT } from '../event.ts';
import {
  connectBus,
  createClient,
  createSite,
  startCollector,
  type TestCollector,
} from '../testing/collector.ts';
import { startOwner, type TestOwner } from '../testing/owner.ts';

// The rights of a sender without a secret to change profiles, groups and aliases.

const ORIGIN = 'https://shop.example';
const PHONE = 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0';
const DEVICE = /^[0-9a-f]{32}$/;

let nats: NatsServer;
let bus: Bus;
let owner: TestOwner;
let collector: TestCollector;
let strict: Awaited<ReturnType<typeof createClient>>;
let open: Awaited<ReturnType<typeof createClient>>;
/** The answer of the entities' owners, and the questions that they got. */
let answer: EntityAnswer = { kind: 'absent' };
const questions: EntityQuestion[] = [];
const stops: (() => void)[] = [];

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  await createSite(bus, 'strict', { cors: [ORIGIN] });
  await createSite(bus, 'open', { cors: [ORIGIN], allowUnsafeAliases: true, allowUnsafeIdentify: true });
  strict = await createClient(bus, 'write', 'strict');
  open = await createClient(bus, 'write', 'open');
  owner = startOwner(bus, LANES_DEFAULT);
  collector = await startCollector(nats.url);
});

afterAll(async () => {
  await collector.stop();
  owner.stop();
  stopAnswering();
  await bus.close();
  await nats.stop();
});

function stopAnswering(): void {
  for (const stop of stops.splice(0)) stop();
}

/** Owners of entities that answer every question with `given`. Resolves once each of them does. */
async function answering(given: EntityAnswer): Promise<void> {
  answer = given;
  if (stops.length === 0) for (let lane = 0; lane < LANES_DEFAULT; lane += 1) subscribe(lane);
  for (let lane = 0; lane < LANES_DEFAULT; lane += 1) await untilAnswered(lane);
  questions.length = 0;
}

async function untilAnswered(lane: number): Promise<void> {
  const question = encodeEntityQuestion({ kind: 'order', projectId: storedId('strict'), id: 'ping' });
  for (let attempt = 1; ; attempt += 1) {
    try {
      await bus.ask(entityLookupSubjectOf(lane), question, 1_000);
      return;
    } catch (error) {
      if (attempt === 50) throw error;
    }
  }
}

function subscribe(lane: number): void {
  const stop = bus.answer(entityLookupSubjectOf(lane), {
    reply: async (bytes) => {
      questions.push(decodeEntityQuestion(bytes));
      return encodeEntityAnswer(answer);
    },
    unavailable: () => encodeEntityAnswer({ kind: 'unavailable' }),
  });
  stops.push(stop);
}

const TIMES = { createdAtMs: 1, updatedAtMs: 1 };
const found = (mayChange: boolean): EntityAnswer => ({
  kind: 'found',
  record: {
    kind: 'profile',
    id: 'victim',
    firstName: '',
    lastName: '',
    email: '',
    avatar: '',
    properties: [],
    groups: [],
    ...TIMES,
  },
  mayChange,
});

interface TrackReply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function post(path: string, body: unknown, headers: Record<string, string>): Promise<TrackReply> {
  const response = await fetch(collector.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': PHONE, ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as TrackReply['body'] };
}

const page = ({ id }: { readonly id: string }) => ({ 'service-client-id': id, origin: ORIGIN });
const program = ({ id, secret }: { readonly id: string; readonly secret: string }) => ({
  'service-client-id': id,
  'service-client-secret': secret,
  'user-agent': 'shop-backend/1.0',
});
const browse = (client: { readonly id: string }, type: string, payload: object) =>
  post('/track', { type, payload }, page(client));

/** The updates of entities on the bus that name this id. */
async function updatesOf(id: string): Promise<EntityUpdate[]> {
  const updates: EntityUpdate[] = [];
  for (let lane = 0; lane < LANES_DEFAULT; lane += 1) {
    const { first, last } = await bus.streamBounds(entityStreamOf(lane));
    if (last < first) continue;
    const reader = bus.reader(entityStreamOf(lane), first);
    let seen = first - 1;
    while (seen < last)
      await reader.read(last - seen, 1_000, ({ sequence, bytes }) => {
        seen = sequence;
        updates.push(...decodeEntityUpdates(bytes, decodeMessageHead(bytes).count));
        return sequence < last;
      });
  }
  return updates.filter((update) => update.id === id);
}

const count = (name: 'ingest_rejects_total' | 'ingest_excluded_total', reason: string) =>
  new RegExp(`^${name}\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(collector.metrics.expose())?.[1];

describe('an alias', () => {
  const payload = { profileId: 'attacker', alias: 'victim' };
  const stored = async (projectId: string) => {
    const value = await (await bus.keyed(ALIASES_BUCKET)).get(
      aliasKeyOf({ projectId: storedId(projectId), alias: 'victim' }),
    );
    return value?.bytes === undefined ? undefined : decodeAlias(value.bytes);
  };

  test('of a browser is rejected, names secret and setting, and is counted', async () => {
    const before = Number(count('ingest_rejects_total', 'unsafe-alias'));
    const { status, body } = await browse(strict, 'alias', payload);
    expect(status).toBe(401);
    expect(body.message).toMatch(/service-client-secret.*allowUnsafeAliases/);
    const batch = await post('/track/batch', [{ type: 'alias', payload }], page(strict));
    expect(batch.body).toMatchObject({ accepted: 0, rejected: [{ index: 0, status: 401 }] });
    expect(await stored('strict')).toBeUndefined();
    expect(Number(count('ingest_rejects_total', 'unsafe-alias'))).toBe(before + 2);
  });

  test('of a program with a secret is stored as verified, and of a browser on an open site as not', async () => {
    expect((await post('/track', { type: 'alias', payload }, program(strict))).status).toBe(200);
    expect(await stored('strict')).toMatchObject({ ...payload, verified: true });
    expect((await browse(open, 'alias', payload)).status).toBe(200);
    expect(await stored('open')).toMatchObject({ ...payload, verified: false });
    expect(Date.parse((await stored('open'))?.createdAt ?? '')).toBeGreaterThan(Date.now() - 60_000);
  });

  test('that was made with a secret is not moved by a browser, not even on an open site', async () => {
    expect((await post('/track', { type: 'alias', payload }, program(open))).status).toBe(200);
    const { status, body } = await browse(open, 'alias', { profileId: 'other', alias: 'victim' });
    expect(status).toBe(401);
    expect(body.message).toMatch(/made with a client secret/);
    expect(await stored('open')).toMatchObject({ profileId: 'attacker', verified: true });
  });
});

describe('an update of a browser', () => {
  const UPDATES: readonly [string, (id: string) => object][] = [
    ['identify', (id) => ({ profileId: id, email: 'eve@example.org' })],
    ['increment', (id) => ({ profileId: id, property: 'visits' })],
    ['decrement', (id) => ({ profileId: id, property: 'visits' })],
    ['assign_group', (id) => ({ profileId: id, groupIds: ['g'] })],
    ['group', (id) => ({ id, type: 'company', name: 'Evil' })],
  ];

  test.each(UPDATES)('%s is answered 202 with the reason when the owner says no', async (type, payloadOf) => {
    await answering(found(false));
    const id = `no-${type}`;
    const before = Number(count('ingest_excluded_total', 'device'));
    const { status, body } = await browse(strict, type, payloadOf(id));
    expect(status).toBe(202);
    const what = type === 'group' ? 'group' : 'profile';
    expect(body).toEqual({
      filtered: true,
      reason: expect.stringMatching(`^${what}: .*allowUnsafeIdentify`),
    });
    expect(Number(count('ingest_excluded_total', 'device'))).toBe(before + 1);
    expect(questions).toEqual([
      { kind: what, projectId: 'strict', id, devices: [expect.stringMatching(DEVICE)] },
    ]);
    const batch = await post('/track/batch', [{ type, payload: payloadOf(id) }], page(strict));
    expect(batch.body).toMatchObject({ accepted: 0, rejected: [{ index: 0, status: 202 }] });
    expect(await updatesOf(id)).toEqual([]);
  });

  test.each(UPDATES)(
    '%s carries the devices of the sender when the owner agrees',
    async (type, payloadOf) => {
      await answering(found(true));
      const id = `yes-${type}`;
      const { status, body } = await browse(strict, type, payloadOf(id));
      expect(status).toBe(200);
      const [update] = await updatesOf(id);
      expect(update).toMatchObject({ authority: { kind: 'device', devices: [body.deviceId] } });
    },
  );

  test('is accepted while the owner is silent, for the owner to decide later', async () => {
    stopAnswering();
    expect((await browse(strict, 'identify', { profileId: 'silent' })).status).toBe(200);
    expect(await updatesOf('silent')).toMatchObject([{ authority: { kind: 'device' } }]);
  });

  test('proves its device by address and agent, and not by an id in the body', async () => {
    await answering({ kind: 'absent' });
    const claimed = 'ab'.repeat(16);
    const payload = { profileId: 'claimed', properties: { __deviceId: claimed } };
    const { body } = await browse(strict, 'identify', payload);
    expect(body.deviceId).toBe(claimed);
    const [update] = await updatesOf('claimed');
    expect(JSON.stringify(update)).not.toContain(claimed);
    expect(update).toMatchObject({ authority: { kind: 'device', devices: [expect.stringMatching(DEVICE)] } });
    const own = { profileId: claimed, properties: { __deviceId: claimed } };
    await browse(strict, 'identify', own);
    expect(questions.map(({ id }) => id)).toEqual(['claimed', claimed]);
  });

  test('of its own device needs no answer, and none on a site that allows all', async () => {
    await answering(found(false));
    expect((await browse(strict, 'assign_group', { groupIds: ['g'] })).status).toBe(200);
    expect((await browse(open, 'identify', { profileId: 'anyone' })).status).toBe(200);
    expect(questions).toEqual([]);
    expect(await updatesOf('anyone')).toMatchObject([{ authority: { kind: 'site' } }]);
  });
});

describe('a program with a secret', () => {
  test('changes every profile, and names the device that it sends', async () => {
    await answering(found(false));
    const device = '0123456789abcdef'.repeat(2);
    const send = (payload: object) =>
      post('/track', { type: 'identify', payload: { profileId: 'known', ...payload } }, program(strict));
    expect((await send({})).status).toBe(200);
    expect((await send({ properties: { __deviceId: device } })).status).toBe(200);
    expect((await send({ properties: { __deviceId: 'a name' } })).status).toBe(200);
    expect(questions).toEqual([]);
    const authorities = (await updatesOf('known')).map((update) => 'authority' in update && update.authority);
    expect(authorities).toEqual([[], [device], []].map((devices) => ({ kind: 'secret', devices })));
  });

  test('gets 400 for a large update that the profile has no room for, and the owner is asked about no small one', async () => {
    const values = Object.fromEntries(
      Array.from({ length: 16 }, (_, index) => [`k${index}`, 'v'.repeat(4_000)]),
    );
    const full = found(true);
    if (full.kind === 'found' && full.record.kind === 'profile')
      await answering({ ...full, record: { ...full.record, properties: Object.entries(values).flat() } });
    const identify = (properties: object) =>
      post('/track', { type: 'identify', payload: { profileId: 'full', properties } }, program(strict));
    const more = { more1: 'w'.repeat(4_000), more2: 'w'.repeat(4_000), more3: 'w'.repeat(4_000) };
    const rejected = await identify(more);
    expect(rejected.status).toBe(400);
    expect(JSON.stringify(rejected.body)).toContain('payload.properties: the profile would have more than');
    expect((await identify({ k0: more.more1, k1: more.more2, k2: more.more3 })).status).toBe(200);
    expect(questions).toHaveLength(2);
    expect((await identify({ plan: 'pro' })).status).toBe(200);
    expect(questions).toHaveLength(2);
    expect(await updatesOf('full')).toHaveLength(2);
  });

  test('names a device of a profile with its events, once for many, and a browser does not', async () => {
    const device = 'fedcba9876543210'.repeat(2);
    const event = (profileId: string) => ({
      type: 'track',
      payload: { name: 'seen', profileId, properties: { __deviceId: device } },
    });
    for (let time = 0; time < 3; time += 1)
      expect((await post('/track', event('linked'), program(strict))).status).toBe(200);
    expect((await post('/track', event('unlinked'), page(strict))).status).toBe(200);
    // Devices are published together, in the order of the events.
    expect((await post('/track', event('later'), program(strict))).status).toBe(200);
    await expect.poll(() => updatesOf('later')).toMatchObject([{ kind: 'device' }]);
    expect(await updatesOf('linked')).toMatchObject([
      { kind: 'device', authority: { kind: 'secret', devices: [device] } },
    ]);
    expect(await updatesOf('unlinked')).toEqual([]);
  });
});
