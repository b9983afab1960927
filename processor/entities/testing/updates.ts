import fc from 'fast-check';
import type { StoredId } from '../../../infra/accounts/ids.ts';
import { RowBinaryWriter } from '../../../infra/store/row-binary.ts';
import { storedId } from '../../../infra/testing/ids.ts';
import type {
  AssignUpdate,
  Authority,
  DeviceUpdate,
  EntityUpdate,
  GroupUpdate,
  IdentifyUpdate,
  MentionUpdate,
  OrderUpdate,
  StepUpdate,
  TallyUpdate,
} from '../../../ingest/entity-update.ts';
import {
  EVENT_MAX_BYTES,
  type Event,
  encodeEvent,
  laneOf,
  REVENUE,
  routingKeyOf,
} from '../../../ingest/event.ts';
import { plainEvent } from '../../../ingest/testing/events.ts';

/** The time of the first update in tests. */
export const FIRST_MS: number = Date.UTC(2024, 1, 28, 23, 50);

const HEAD = { projectId: storedId('demo'), id: 'one', atMs: FIRST_MS, updateId: '' };
/** A sender with a secret that names no device. */
const authority: Authority = { kind: 'secret', devices: [] };

/** A browser with these device ids of today and yesterday. */
export function fromDevices(...devices: readonly string[]): { readonly authority: Authority } {
  return { authority: { kind: 'device', devices } };
}

/** An identify without content; tests add some. */
export function identify(given: Partial<IdentifyUpdate> = {}): IdentifyUpdate {
  return { kind: 'identify', ...HEAD, authority, properties: [], ...given };
}

/** A step of 1 of the property `n`. */
export function step(given: Partial<StepUpdate> = {}): StepUpdate {
  return { kind: 'step', ...HEAD, authority, property: 'n', step: '1', ...given };
}

export function assign(groups: readonly string[], given: Partial<AssignUpdate> = {}): AssignUpdate {
  return { kind: 'assign', ...HEAD, authority, groups, ...given };
}

export function group(given: Partial<GroupUpdate> = {}): GroupUpdate {
  return { kind: 'group', ...HEAD, authority, type: 'company', name: 'Acme', properties: [], ...given };
}

/** Names a device of a profile. */
export function device(id: string, given: Partial<DeviceUpdate> = {}): DeviceUpdate {
  return { kind: 'device', ...HEAD, authority: { kind: 'secret', devices: [id] }, ...given };
}

/** Names a group without saying anything of it. */
export function mention(given: Partial<MentionUpdate> = {}): MentionUpdate {
  return { kind: 'mention', ...HEAD, ...given };
}

/** An order of 20 EUR. */
export function order(given: Partial<OrderUpdate> = {}): OrderUpdate {
  return {
    kind: 'order',
    ...HEAD,
    isRefund: false,
    amount: '',
    minorUnits: '2000',
    currency: 'EUR',
    partition: 1,
    event: Uint8Array.of(1, 2, 3),
    ...given,
  };
}

/** An order of 20 EUR with the given event. */
export function orderOf(
  id: string,
  given: Partial<Event> & { readonly projectId: StoredId },
  lanes: number,
): OrderUpdate {
  const paid = { name: REVENUE, revenue: 0n, currency: 'EUR', orderId: id, sessionId: '' };
  const event = plainEvent({ ...paid, credit: given.sessionId !== undefined, ...given });
  const writer = new RowBinaryWriter(EVENT_MAX_BYTES);
  encodeEvent(writer, event);
  const lane = laneOf(given.projectId, routingKeyOf(event), { lanes, storeShards: 1 });
  return order({ projectId: given.projectId, id, event: writer.take(), partition: lane });
}

/** A refund of everything that is left. */
export function refund(given: Partial<OrderUpdate> = {}): OrderUpdate {
  return order({ isRefund: true, minorUnits: '', currency: '', partition: 2, ...given });
}

export function tally(given: Partial<TallyUpdate> = {}): TallyUpdate {
  const hourMs = Date.UTC(2024, 1, 28, 23);
  return { kind: 'tally', ...HEAD, hourMs, reason: 'bot', name: 'Googlebot', count: 1, ...given };
}

/** Texts of every kind that a collector accepts. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    '__proto__',
    'constructor',
    'it\'s \\ "quoted"',
    'größe',
    '日本語',
    '👩‍👩‍👧',
    'a\tb\nc',
    '\u202e',
  ),
  fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !text.includes('\0')),
);

// Few names, so that they collide, above and below each other.
const keys = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'n',
      'a',
      'a.b',
      'a.b.c',
      'a.c',
      'ab',
      'a.',
      '.a',
      '',
      '__proto__',
      '__proto__.a',
    ),
  },
  { weight: 1, arbitrary: fc.nat({ max: 700 }).map((number) => `key${number}`) },
);
const numbers = fc.constantFrom(
  '0',
  '1',
  '-1',
  '0.1',
  '007',
  '1e+21',
  '1.5e-7',
  '-0.30',
  '99999999999999999999.5',
);
const values = fc.oneof(numbers, anyText);
const pairs = fc.array(fc.tuple(keys, values), { maxLength: 6 }).map((list) => list.flat());
/** Sometimes enough to fill an entity. */
const properties = fc.oneof(
  { weight: 20, arbitrary: pairs },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.nat({ max: 600 }), values)
      .map(([first, value]) =>
        Array.from({ length: 256 }, (_, index) => [`key${first + index}`, value]).flat(),
      ),
  },
);

const updateId = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom('u1', 'u2', 'u3') },
  { weight: 1, arbitrary: fc.nat({ max: 500 }).map(String) },
);
const head = {
  projectId: fc.constantFrom(storedId('demo'), storedId('shop')),
  id: fc.constantFrom('one', 'two', 'größe'),
  atMs: fc.nat({ max: 10_000 }).map((ms) => FIRST_MS + ms),
  updateId,
  authority: fc.record({
    kind: fc.constantFrom('secret' as const, 'secret' as const, 'site' as const, 'device' as const),
    devices: fc.array(fc.constantFrom('one', ...Array.from({ length: 30 }, (_, index) => `d${index}`)), {
      maxLength: 2,
    }),
  }),
};

const identifies: fc.Arbitrary<IdentifyUpdate> = fc.record(
  {
    kind: fc.constant('identify' as const),
    ...head,
    firstName: anyText,
    lastName: anyText,
    email: anyText,
    avatar: anyText,
    properties,
  },
  { requiredKeys: ['kind', 'projectId', 'id', 'atMs', 'updateId', 'authority', 'properties'] },
);

const steps: fc.Arbitrary<StepUpdate> = fc.record({
  kind: fc.constant('step' as const),
  ...head,
  property: keys,
  step: fc.constantFrom('1', '-1', '0.1', '-0.25', '12345678901234567890.000001', `1${'0'.repeat(62)}`, '-7'),
});

const assigns: fc.Arbitrary<AssignUpdate> = fc.record({
  kind: fc.constant('assign' as const),
  ...head,
  groups: fc.oneof(
    { weight: 9, arbitrary: fc.array(fc.constantFrom('g1', 'g2', 'g3', '', '__proto__'), { maxLength: 4 }) },
    {
      weight: 1,
      arbitrary: fc
        .nat({ max: 900 })
        .map((first) => Array.from({ length: 256 }, (_, index) => `g${first + index}`)),
    },
  ),
});

const deviceUpdates: fc.Arbitrary<DeviceUpdate> = fc.record({
  kind: fc.constant('device' as const),
  ...head,
  updateId: fc.constant(''),
});

/** Every kind of update of a profile. */
export const profileUpdates = fc.oneof(identifies, steps, assigns, deviceUpdates);

export const groupUpdates: fc.Arbitrary<GroupUpdate> = fc.record({
  kind: fc.constant('group' as const),
  ...head,
  type: fc.constantFrom('company', 'team'),
  name: anyText,
  properties,
});

const amounts = fc.constantFrom('0', '5', '0.01', '3.333', '10.005', '19.9', '20', '1000000');
const minorUnits = fc.constantFrom('0', '1', '500', '1999', '2000', '9007199254740991');

const { authority: _authority, ...plainHead } = head;

/** Orders and refunds; a collector sends no order without an amount. */
export const orderUpdates: fc.Arbitrary<OrderUpdate> = fc
  .record({
    kind: fc.constant('order' as const),
    ...plainHead,
    isRefund: fc.boolean(),
    given: fc.oneof(
      minorUnits.map((units) => ({ amount: '', minorUnits: units })),
      amounts.map((amount) => ({ amount, minorUnits: '' })),
      fc.constant({ amount: '', minorUnits: '' }),
    ),
    currency: fc.constantFrom('EUR', 'EUR', 'EUR', 'JPY', 'BHD'),
    namesCurrency: fc.boolean(),
    partition: fc.nat({ max: 7 }),
    event: fc.uint8Array({ maxLength: 8 }),
  })
  .map(({ given, namesCurrency, currency, isRefund, ...rest }) => {
    const isWithout = given.amount === '' && given.minorUnits === '';
    const amount = !isRefund && isWithout ? { amount: '', minorUnits: '2000' } : given;
    return { ...rest, ...amount, isRefund, currency: isRefund && !namesCurrency ? '' : currency };
  });

const tallyUpdates: fc.Arbitrary<TallyUpdate> = fc.record({
  kind: fc.constant('tally' as const),
  ...plainHead,
  hourMs: fc.constant(Date.UTC(2024, 1, 28, 23)),
  reason: fc.constant('bot'),
  name: fc.constant('Googlebot'),
  count: fc.integer({ min: 1, max: 1_000_000 }),
});

/** Every kind of update of entities of every kind. */
export const entityUpdates: fc.Arbitrary<EntityUpdate> = fc.oneof(
  profileUpdates,
  groupUpdates,
  orderUpdates,
  tallyUpdates,
);
