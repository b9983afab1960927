import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { systemClock } from '../../infra/clock.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { Store } from '../../infra/store/store.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { type StoreServer, startStoreServer } from '../../infra/testing/store-server.ts';
import {
  decodeEntityAnswer,
  decodeStoredProfilesAnswer,
  type EntityAnswer,
  encodeEntityQuestion,
  encodeStoredProfilesQuestion,
  entityLookupSubjectOf,
  storedProfilesSubjectOf,
} from '../../ingest/entity-lookup.ts';
import {
  BY_SECRET,
  type EntityUpdate,
  entityStreamOf,
  entitySubjectOf,
  type OrderUpdate,
} from '../../ingest/entity-update.ts';
import {
  decodeMessageHead,
  EVENT_MAX_BYTES,
  type Event,
  encodeEvent,
  MESSAGE_HEADER_BYTES,
  streamOf,
  subjectOf,
} from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { DEAD_LETTERS_STREAM } from '../dead-letters/dead-letter.ts';
import { EventView } from '../fold/event-view.ts';
import { LANES_BUCKET } from '../lane/lane-record.ts';
import { entityCheckpointKeyOf } from './entity-checkpoint.ts';
import { createEntityGauges, createEntityMetrics, type EntityMetrics } from './entity-metrics.ts';
import { EntitySupervisor } from './entity-supervisor.ts';
import { UpdateSender } from './testing/update-sender.ts';

const BUS_BYTES_MAX = 268_435_456;
const SITE = storedId('demo');

const folder = mkdtempSync(join(tmpdir(), 'footfall-records-'));
const log = createLogger('records-test', 'silent');
let nats: NatsServer;
let server: StoreServer;
let bus: Bus;
let store: Store;
let lanesUsed = 0;

beforeAll(async () => {
  nats = await startNatsServer();
  server = await startStoreServer({ dataDir: folder });
  bus = await Bus.connect({ url: nats.url, name: 'records-test' }, log);
  store = new Store({ url: server.url, database: 'records_test', requestTimeoutMs: 30_000 });
  await migrate(store, join(projectRoot, 'processor/schema'));
  await bus.ensureStream(DEAD_LETTERS_STREAM, 'dead-letters.*', BUS_BYTES_MAX);
});

afterAll(async () => {
  await bus.close();
  await store.close();
  await server.stop();
  await nats.stop();
  rmSync(folder, { recursive: true, force: true });
});

const running: EntitySupervisor[] = [];

afterEach(async () => {
  for (const supervisor of running.splice(0)) await supervisor.stop();
});

/** A lane that no other test uses: numbers and streams of its own. */
async function freshLane(): Promise<number> {
  const lane = lanesUsed;
  lanesUsed += 1;
  await bus.ensureStream(entityStreamOf(lane), entitySubjectOf(lane), BUS_BYTES_MAX);
  await bus.ensureStream(streamOf(lane), subjectOf(lane), BUS_BYTES_MAX);
  return lane;
}

async function start(
  lane: number,
  crashPoint: (point: CrashPoint) => void = () => {},
): Promise<EntityMetrics> {
  const metrics = new Metrics();
  const entityMetrics = createEntityMetrics(metrics);
  const supervisor = new EntitySupervisor({
    stream: entityStreamOf(lane),
    subject: entitySubjectOf(lane),
    name: lane,
    layout: ServiceLanes.fixed(lane + 1).layout,
    checkpointKey: entityCheckpointKeyOf(lane),
    eventSubjectOf: subjectOf,
    lane,
    bus,
    store,
    records: await bus.keyed(LANES_BUCKET),
    log,
    clock: systemClock,
    random: Math.random,
    metrics: entityMetrics,
    gauges: createEntityGauges(metrics, lane),
    crashPoint,
    // So few that entities are evicted all the time.
    bookLimits: { cleanMax: 3, cleanCharsMax: 3_000 },
  });
  supervisor.start();
  running.push(supervisor);
  return entityMetrics;
}

const head = (id: string) => ({ projectId: SITE, id, atMs: Date.UTC(2026, 0, 1), updateId: '' });
const step = (id: string, by = '1'): EntityUpdate => ({
  kind: 'step',
  ...head(id),
  authority: BY_SECRET,
  property: 'visits',
  step: by,
});
const identify = (id: string, firstName: string): EntityUpdate => ({
  kind: 'identify',
  ...head(id),
  authority: BY_SECRET,
  firstName,
  properties: ['plan', 'pro'],
});

function order(
  lane: number,
  id: string,
  minorUnits: string,
  isRefund = false,
  event: Partial<Event> = {},
): OrderUpdate {
  const writer = new RowBinaryWriter(EVENT_MAX_BYTES);
  encodeEvent(
    writer,
    plainEvent({ name: 'revenue', revenue: 0n, currency: isRefund ? '' : 'EUR', orderId: id, ...event }),
  );
  const currency = isRefund ? '' : 'EUR';
  return {
    kind: 'order',
    ...head(id),
    isRefund,
    amount: '',
    minorUnits,
    currency,
    partition: lane,
    event: writer.take(),
  };
}

async function ask(lane: number, kind: 'profile' | 'group' | 'order', id: string): Promise<EntityAnswer> {
  const question = encodeEntityQuestion({ kind, projectId: SITE, id });
  return decodeEntityAnswer(await bus.ask(entityLookupSubjectOf(lane), question, 10_000));
}

async function visitsOf(lane: number, id: string): Promise<string | undefined> {
  const answer = await ask(lane, 'profile', id);
  if (answer.kind !== 'found' || answer.record.kind === 'order') return undefined;
  const { properties } = answer.record;
  const at = properties.findIndex((text, index) => index % 2 === 0 && text === 'visits');
  return at < 0 ? undefined : properties[at + 1];
}

async function storedVisits(id: string): Promise<string | undefined> {
  const rows = await store.query<{ visits: string }>(
    `SELECT properties['visits'] AS visits FROM profiles FINAL WHERE projectId = {site:String} AND id = {id:String}`,
    { site: SITE, id },
  );
  return rows[0]?.visits;
}

/** Amounts on the events' stream, each message once, even if it was published more often. */
async function recordedAmounts(lane: number): Promise<{ amounts: bigint[]; currencies: Set<string> }> {
  const seen = new Map<bigint, number>();
  const amounts: bigint[] = [];
  const currencies = new Set<string>();
  for await (const { bytes } of bus.messages(streamOf(lane))) {
    const message = Buffer.from(bytes);
    const { publisherId, publisherSequence, count } = decodeMessageHead(message);
    if (publisherSequence <= (seen.get(publisherId) ?? 0)) continue;
    seen.set(publisherId, publisherSequence);
    const view = new EventView();
    let offset = MESSAGE_HEADER_BYTES;
    for (let index = 0; index < count; index += 1) {
      offset = view.read(message, offset);
      amounts.push(message.readBigInt64LE(view.revenueStart));
      currencies.add(message.toString('utf8', view.currencyStart, view.currencyEnd));
    }
  }
  return { amounts, currencies };
}

/** Looks until there is something; a look that fails is repeated. */
function untilThere<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  return until(what, () => look().catch(() => undefined));
}

test('an entity is the result of its updates, readable at once and stored soon after', async () => {
  const lane = await freshLane();
  await start(lane);
  const sender = new UpdateSender(bus, lane, 1n);
  await sender.send([
    identify('read-ada', 'Ada'),
    step('read-ada', '2.5'),
    { kind: 'assign', ...head('read-ada'), authority: BY_SECRET, groups: ['acme'] },
    {
      kind: 'group',
      ...head('acme'),
      authority: BY_SECRET,
      type: 'company',
      name: 'Acme',
      properties: ['seats', '5'],
    },
  ]);
  const answer = await untilThere('the answer', async () => ask(lane, 'profile', 'read-ada'));
  expect(answer).toMatchObject({ kind: 'found', record: { firstName: 'Ada', groups: ['acme'] } });
  expect(await visitsOf(lane, 'read-ada')).toBe('2.5');
  expect(await ask(lane, 'group', 'acme')).toMatchObject({ kind: 'found', record: { name: 'Acme' } });
  expect(await ask(lane, 'profile', 'nobody')).toEqual({ kind: 'absent' });
  expect(await untilThere('the stored profile', () => storedVisits('read-ada'))).toBe('2.5');
});

test('an owner says that the store has the profiles of a site, and then it has them', async () => {
  const lane = await freshLane();
  await start(lane);
  const sender = new UpdateSender(bus, lane, 1n);
  const stored = async (projectId: StoredId) => {
    const question = encodeStoredProfilesQuestion({ projectId });
    return decodeStoredProfilesAnswer(await bus.ask(storedProfilesSubjectOf(lane), question, 10_000)).kind;
  };
  await untilThere('an owner', async () => ((await stored(SITE)) === 'stored' ? true : undefined));
  for (let round = 1; round <= 5; round += 1) {
    await sender.send([step('waited-for'), step(`waited-for-${round}`)]);
    const [one, another] = await Promise.all([stored(SITE), stored(storedId('elsewhere')), stored(SITE)]);
    expect([one, another]).toEqual(['stored', 'stored']);
    expect(await storedVisits('waited-for')).toBe(String(round));
    expect(await storedVisits(`waited-for-${round}`)).toBe('1');
  }
});

test('an owner whose store is away cannot say that it has the profiles', { timeout: 60_000 }, async () => {
  const lane = await freshLane();
  await start(lane);
  const question = encodeStoredProfilesQuestion({ projectId: SITE });
  const stored = async () =>
    decodeStoredProfilesAnswer(await bus.ask(storedProfilesSubjectOf(lane), question, 10_000)).kind;
  await untilThere('an owner', async () => ((await stored()) === 'stored' ? true : undefined));
  await server.kill();
  try {
    await new UpdateSender(bus, lane, 1n).send([step('not-stored')]);
    expect(await stored()).toBe('unavailable');
  } finally {
    await server.restart();
  }
  await untilThere('the store', async () => ((await stored()) === 'stored' ? true : undefined));
  expect(await storedVisits('not-stored')).toBe('1');
});

test('an order is known by the answer of the event that counts, in memory, from the store, and after a restart', async () => {
  const lane = await freshLane();
  const id = 'answered';
  const first = { deviceId: 'phone', sessionId: 'ab'.repeat(16) };
  await start(lane);
  const sender = new UpdateSender(bus, lane, 1n);
  await sender.send([order(lane, id, '300', true)]);
  expect(await untilThere('the owner', () => ask(lane, 'order', id))).toEqual({ kind: 'absent' });
  await sender.send([
    order(lane, id, '900', false, first),
    order(lane, id, '900', false, { deviceId: 'other', sessionId: 'cd'.repeat(16) }),
    order(lane, 'without-session', '900', false, { deviceId: 'other', sessionId: '' }),
  ]);
  const expected = { kind: 'found', record: { kind: 'order', id, ...first } };
  expect(await ask(lane, 'order', id)).toEqual(expected);
  await untilThere('the stored order', async () => {
    const rows = await store.query('SELECT id FROM orders WHERE id = {id:String} AND hasOrder', { id });
    return rows.length > 0 || undefined;
  });
  expect(await ask(lane, 'order', id)).toEqual(expected);
  for (const supervisor of running.splice(0)) await supervisor.stop();
  await start(lane);
  expect(await untilThere('the next owner', () => ask(lane, 'order', id))).toEqual(expected);
  expect(await ask(lane, 'order', 'without-session')).toMatchObject({
    record: { deviceId: 'other', sessionId: '' },
  });
  await new UpdateSender(bus, lane, 2n).send([
    order(lane, id, '900', false, { deviceId: 'third', sessionId: '' }),
  ]);
  expect(await ask(lane, 'order', id)).toEqual(expected);
});

test.each(['entities:after-publish', 'entities:after-insert', 'entities:after-checkpoint'] as const)(
  'steps and orders count once, though messages come twice and the lane dies again and again at %s',
  async (point) => {
    const lane = await freshLane();
    let visits = 0;
    const metrics = await start(lane, (reached) => {
      if (reached !== point) return;
      visits += 1;
      if (visits % 7 === 1 && visits < 30) throw new Error(`crash at ${point}`);
    });
    const id = `crash-${point}`;
    const senders = [
      new UpdateSender(bus, lane, 1n),
      new UpdateSender(bus, lane, 2n),
      new UpdateSender(bus, lane, 3n),
    ];
    for (let round = 0; round < 20; round += 1) {
      const orderId = `${id}-${round}`;
      await Promise.all(
        senders.map((sender, index) =>
          sender.send(
            [
              ...Array.from({ length: 10 }, () => step(id)),
              // The same order from every sender, and refunds of a third each. Some come before the order.
              index === 1 ? order(lane, orderId, '900') : order(lane, orderId, '300', true),
              order(lane, orderId, '900'),
            ],
            1 + (round % 2),
          ),
        ),
      );
      // Flushes fall between the messages, not only after the last one.
      if (round % 5 === 4)
        await untilThere('a flush', async () => ((await storedVisits(id)) === undefined ? undefined : true));
    }
    const stored = await untilThere('all steps', async () =>
      (await storedVisits(id)) === '600' ? '600' : undefined,
    );
    expect(stored).toBe('600');
    expect(metrics.failures.value).toBeGreaterThan(0);
    const { amounts, currencies } = await recordedAmounts(lane);
    expect(amounts.filter((amount) => amount > 0n)).toEqual(Array.from({ length: 20 }, () => 900n));
    expect(amounts.filter((amount) => amount < 0n)).toEqual(Array.from({ length: 40 }, () => -300n));
    expect(currencies).toEqual(new Set(['EUR']));
  },
);

test('while the store is away recent entities stay readable, and nothing is lost', async () => {
  const lane = await freshLane();
  const sender = new UpdateSender(bus, lane, 9n);
  const metrics = await start(lane);
  await sender.send([identify('away-known', 'Known'), step('away-known')]);
  await untilThere('the stored profile', () => storedVisits('away-known'));
  await server.kill();
  try {
    await sender.send([identify('away-new', 'New'), step('away-known')]);
    const answer = await untilThere('the new profile', async () => {
      const found = await ask(lane, 'profile', 'away-new');
      return found.kind === 'found' ? found : undefined;
    });
    expect(answer.record).toMatchObject({ firstName: 'New' });
    expect(await ask(lane, 'profile', 'away-known')).toMatchObject({ record: { firstName: 'Known' } });
    expect(await ask(lane, 'profile', 'away-stranger')).toEqual({ kind: 'unavailable' });
  } finally {
    await server.restart();
  }
  expect(
    await untilThere('both steps', async () =>
      (await storedVisits('away-known')) === '2' ? '2' : undefined,
    ),
  ).toBe('2');
  expect(metrics.storeRetries.value).toBeGreaterThan(0);
});

test('a message that cannot be read goes to the dead letters, and the next one counts', async () => {
  const lane = await freshLane();
  const metrics = await start(lane);
  await bus.publish(entitySubjectOf(lane), Buffer.from('nonsense'), 5_000);
  await new UpdateSender(bus, lane, 4n).send([step('after-nonsense')]);
  expect(await untilThere('the step', () => visitsOf(lane, 'after-nonsense'))).toBe('1');
  expect(metrics.deadLetters.value).toBe(1);
});

test('a gap in the stream stops the lane, which restarts with back-off and answers nothing it cannot know', async () => {
  const lane = await freshLane();
  const sender = new UpdateSender(bus, lane, 5n);
  for (let count = 0; count < 3; count += 1) await sender.send([step('behind-a-gap')]);
  await bus.trim(entityStreamOf(lane), 2);
  const metrics = await start(lane);
  await untilThere('two failures', async () => (metrics.failures.value >= 2 ? true : undefined));
  expect(metrics.readRetries.value).toBe(0);
  expect(await ask(lane, 'profile', 'behind-a-gap')).toEqual({ kind: 'unavailable' });
  expect(await storedVisits('behind-a-gap')).toBeUndefined();
});
