import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { must } from '../../assert.ts';
import { Bus } from '../../bus/bus.ts';
import { createLogger } from '../../log.ts';
import { agreeOnLanes, openLayouts } from '../../process/agreed-lanes.ts';
import { LaneEnds, storeLaneEnd } from '../../process/lane-ends.ts';
import { type BusWithUsers, busRights, isMatch, startBusWithUsers } from '../../testing/bus-with-users.ts';

// Tests the rights of this folder's users on a real nats-server.

const BYTES = 64 * 1024 ** 2;
const USERS = ['collector', 'query', 'web', 'processor', 'admin'] as const;
type User = (typeof USERS)[number];

const log = createLogger('test', 'silent');
const connect = (bus: BusWithUsers, user: string) => Bus.connect({ url: bus.urlOf(user), name: 'test' }, log);

/** The streams or buckets, by name, that a user may apply an operation of the API to. */
function streamsOf(user: User, operation: string): readonly string[] {
  const start = `$JS.API.STREAM.${operation}.`;
  return busRights()
    .filter((right) => right.user === user && right.subject.startsWith(start))
    .map(({ subject }) => subject.slice(start.length));
}

async function make(bus: Bus, stream: string, bytesMax = BYTES): Promise<void> {
  const subjects = { 'lane-0-events': 'lanes.0.events', 'lane-0-records': 'lanes.0.records', feed: 'feed.>' };
  if (stream.startsWith('KV_')) await bus.keyed(stream.slice('KV_'.length));
  else
    await bus.ensureStream(stream, { ...subjects, 'dead-letters': 'dead-letters.*' }[stream] ?? '', bytesMax);
}

describe.each(USERS)('alone on an empty bus, %s', (user) => {
  let bus: BusWithUsers;
  beforeAll(async () => {
    bus = await startBusWithUsers(1);
  });
  afterAll(() => bus.stop());

  test('makes its streams and buckets, and where it may, changes their limits', async () => {
    const own = await connect(bus, user);
    const updated = streamsOf(user, 'UPDATE');
    for (const stream of streamsOf(user, 'CREATE')) {
      const bucket = stream.slice('KV_'.length);
      // A bucket with room for one value of a key gets more.
      if (stream.startsWith('KV_') && updated.includes(stream))
        await own.keyed(bucket, { storage: 'file', erases: false });
      await make(own, stream);
      if (!stream.startsWith('KV_') && updated.includes(stream)) await make(own, stream, 2 * BYTES);
    }
    for (const stream of updated)
      expect([
        stream,
        bus.acts().some(({ subject }) => subject === `$JS.API.STREAM.UPDATE.${stream}`),
      ]).toEqual([stream, true]);
    expect(bus.refused()).toEqual([]);
    await own.close();
  });

  test('decides how many lanes there are, and reads it', async () => {
    // On a bus with lanes and without a layout no process starts.
    const empty = await startBusWithUsers(1);
    const own = await connect(empty, user);
    for (const configured of [0, 1])
      expect((await agreeOnLanes(own, { lanes: configured, storeShards: 1 })).lanes).toBe(1);
    expect(empty.acts().some((act) => act.user === user && act.subject === '$KV.layout.lanes')).toBe(true);
    expect(empty.refused()).toEqual([]);
    await own.close();
    await empty.stop();
  });
});

describe('with everything in place', () => {
  let bus: BusWithUsers;
  const buses = new Map<User, Bus>();
  const as = (user: User) => must(buses.get(user), user);

  beforeAll(async () => {
    bus = await startBusWithUsers(1);
    for (const user of USERS) buses.set(user, await connect(bus, user));
    for (const stream of streamsOf('processor', 'CREATE')) await make(as('processor'), stream);
    for (const bucket of ['client-uses', 'audit']) await as('query').keyed(bucket);
    await as('collector').publish('lanes.0.events', Buffer.from('event'), 5_000);
    await (await as('query').keyed('control')).put('user.ann', Buffer.from('secret'), 0);
  });
  afterAll(async () => {
    for (const own of buses.values()) await own.close();
    await bus.stop();
  });

  const ACTS = {
    'read the events': (own) => own.reader('lane-0-events', 1).read(1, 1_000, () => true),
    'read an event by its number': (own) => own.messages('lane-0-events').next(),
    'hear events as they come': (own) => own.listen('lanes.>', () => {}),
    'publish an event': (own) => own.publish('lanes.0.events', Buffer.from('forged'), 1_000),
    'publish an update': (own) => own.publish('lanes.0.records', Buffer.from('forged'), 1_000),
    'publish to a feed': (own) => own.publish('feed.shop.0', Buffer.from('forged'), 1_000),
    'delete a stream': (own) => own.deleteStream('lane-0-events'),
    'empty a stream': (own) => own.trim('lane-0-events', 1),
    'remove an event': (own) => own.remove('lane-0-events', 1),
    'change a stream': (own) => own.ensureStream('lane-0-events', 'lanes.0.events', 3 * BYTES),
    'delete a bucket': (own) => own.deleteStream('KV_control'),
    'remove a dead letter': (own) => own.remove('dead-letters', 1),
    'read all control records': async (own) => (await own.keyed('control')).watch(() => {}),
    'read a user': async (own) => (await own.keyed('control')).get('user.ann'),
    'make a client': async (own) => (await own.keyed('control')).putFirst('client.x', Buffer.from('{}')),
    'make a salt': async (own) => (await own.keyed('control')).putFirst('salt.x', Buffer.from('salt')),
    'read the audit log': (own) => own.keyed('audit'),
    'read what is delivered': (own) => own.keyed('deliveries'),
    'read or write what lanes have promised': (own) => own.keyed('lanes'),
    'hear the answers to others': (own) => own.listen('_INBOX.>', () => {}),
    'hear the answers to the processor': (own) => own.listen('_INBOX.processor.>', () => {}),
    'answer in place of an owner': (own) =>
      own.answer('hot.0', { reply: () => undefined, unavailable: () => new Uint8Array() }),
    'tell false live numbers': (own) => own.broadcast('live-numbers.0', Buffer.from('forged')),
    'take the name of a processor': (own) => own.broadcast('namesake.processor-1', Buffer.from('{}')),
  } satisfies Record<string, (own: Bus) => unknown>;
  type Act = keyof typeof ACTS;

  const OF_OWNERS = [
    'answer in place of an owner',
    'tell false live numbers',
    'take the name of a processor',
  ] as const satisfies readonly Act[];
  const OF_EVENTS = [
    'read the events',
    'read an event by its number',
    'remove an event',
    'empty a stream',
    'change a stream',
    'publish to a feed',
    'read or write what lanes have promised',
  ] as const satisfies readonly Act[];
  const OF_NONE = [
    'hear events as they come',
    'hear the answers to others',
    'delete a stream',
    'delete a bucket',
  ] as const satisfies readonly Act[];
  const FORBIDDEN: Readonly<Record<User, readonly Act[]>> = {
    collector: [
      ...OF_NONE,
      ...OF_EVENTS,
      ...OF_OWNERS,
      'hear the answers to the processor',
      'remove a dead letter',
      'read all control records',
      'read a user',
      'make a client',
      'read the audit log',
      'read what is delivered',
    ],
    query: [
      ...OF_NONE,
      ...OF_EVENTS,
      ...OF_OWNERS,
      'hear the answers to the processor',
      'remove a dead letter',
      'publish an event',
      'publish an update',
      'make a salt',
    ],
    web: [
      ...OF_NONE,
      ...OF_EVENTS,
      ...OF_OWNERS,
      'hear the answers to the processor',
      'remove a dead letter',
    ],
    processor: [...OF_NONE, 'make a salt', 'read the audit log'],
    admin: [...OF_NONE, ...OF_EVENTS, ...OF_OWNERS, 'hear the answers to the processor', 'make a salt'],
  };

  test.each(USERS.flatMap((user) => FORBIDDEN[user].map((act) => [user, act] as const)))(
    '%s may not %s',
    async (user, act) => {
      const before = bus.refused().length;
      const result = await Promise.resolve(ACTS[act](as(user))).then(
        () => 'done',
        () => 'refused',
      );
      await expect.poll(() => bus.refused().length).toBeGreaterThan(before);
      expect(bus.refused().slice(before)).toEqual([expect.objectContaining({ user })]);
      // A request without an answer ends here as well, and had no effect.
      expect(['done', 'refused']).toContain(result);
      expect(await as('processor').streamBounds('lane-0-events')).toMatchObject({ first: 1, last: 1 });
    },
  );

  test('a filter of a collector is what the server applies, whatever its request says beside it', async () => {
    const subject = '$JS.API.CONSUMER.CREATE.KV_control.name.$KV.control.site.>';
    for (const filter of [{ filter_subject: '$KV.control.>' }, { filter_subjects: ['$KV.control.>'] }, {}]) {
      const config = { name: 'name', ack_policy: 'none', deliver_policy: 'all', ...filter };
      const request = Buffer.from(JSON.stringify({ stream_name: 'KV_control', config }));
      const answer = Buffer.from(await as('collector').ask(subject, request, 5_000)).toString();
      expect(answer).toContain('"error"');
    }
  });

  test.each([
    ['control', 'site.', 'admin'],
    ['aliases', 'alias.', 'admin'],
    ['client-uses', 'client.', 'query'],
    ['lanes', 'lane-', 'processor'],
    ['deliveries', 'integration.', 'processor'],
    ['search-console-syncs', 'gsc.', 'processor'],
  ] as const)(
    'a flood of records of %s is acknowledged by all that follow them',
    async (bucket, start, writer) => {
      const writing = await as(writer).keyed(bucket);
      for (let key = 0; key < 40; key += 1) await writing.putFirst(start + key, Buffer.alloc(100_000, 'x'));
      const filters = `$JS.API.CONSUMER.CREATE.KV_${bucket}.*.$KV.${bucket}.`;
      let followers = 0;
      for (const { user, subject } of busRights()) {
        const filter = subject.slice(filters.length);
        if (!subject.startsWith(filters) || !isMatch(`${start}1`, filter)) continue;
        followers += 1;
        const stop = await (await as(user as User).keyed(bucket)).watch(() => {}, log, filter);
        const hasAcknowledged = () =>
          bus.acts().some((act) => act.user === user && isMatch(act.subject, `$JS.FC.KV_${bucket}.>`));
        await expect.poll(hasAcknowledged).toBe(true);
        stop();
      }
      expect(followers).toBeGreaterThan(0);
      expect(bus.refused().filter(({ subject }) => subject.startsWith('$JS.FC'))).toEqual([]);
    },
  );

  // README.md says so: what a program may read it can have the server copy, so rights hold mistakes and not a program that was taken over.
  test('what a processor stores of the end of a lane, collectors read', async () => {
    const before = bus.refused().length;
    await storeLaneEnd(await openLayouts(as('processor')), 0, { events: [['z', 7]], records: [] });
    await storeLaneEnd(await openLayouts(as('processor')), 0, { events: [['z', 8]], records: [] });
    for (const user of ['collector', 'web'] as const) {
      const ends = new LaneEnds(await openLayouts(as(user)));
      expect(await ends.lastSequenceOf(0, 'events', 35n)).toBe(8);
    }
    expect(bus.refused().length).toBe(before);
  });

  test('JetStream delivers to any subject that a request names, without asking who may publish there', async () => {
    const config = {
      name: 'copies',
      filter_subject: '$KV.control.user.ann',
      deliver_subject: 'lanes.0.events',
      deliver_policy: 'all',
      ack_policy: 'none',
    };
    const request = Buffer.from(JSON.stringify({ stream_name: 'KV_control', config }));
    const before = bus.refused().length;
    const subject = `$JS.API.CONSUMER.CREATE.KV_control.copies.${config.filter_subject}`;
    await as('query').ask(subject, request, 5_000);
    await expect
      .poll(() => as('processor').streamBounds('lane-0-events'))
      .toMatchObject({ first: 1, last: 2 });
    expect(bus.refused().length).toBe(before);
  });

  test('without a login, or with the wrong one, nothing is served', async () => {
    const url = bus.urlOf('query');
    for (const wrong of [url.replace(/\/\/.*@/, '//'), url.replace(/:[^:@]*@/, ':wrong@')])
      await expect(Bus.connect({ url: wrong, name: 'stranger' }, log)).rejects.toThrow(/[Aa]uthorization/);
  });
});
