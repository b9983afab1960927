import fc from 'fast-check';
import { MINOR_UNITS_MAX } from '../../infra/money.ts';
import { DEVICES } from '../../ingest/enrich/user-agent-device.ts';
import { AVATAR_MAX, ENTITY_TEXT_MAX, GROUP_IDS_MAX } from '../../ingest/request/entity-payload.ts';
import {
  DEPTH_MAX,
  DEVICE_ID_MAX,
  KEY_MAX,
  KEYS_MAX,
  VALUE_MAX_BYTES,
} from '../../ingest/request/properties.ts';
import { IDENTITY_MAX } from '../../ingest/request/sender-claims.ts';
import { BODY_MAX_BYTES, EVENT_ID_MAX, GROUPS_MAX, NAME_MAX } from '../../ingest/request/track-request.ts';

/** A valid body whose values are at their limits. */
export interface ExtremeBody {
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Characters that fill texts: of one to four bytes, invisible ones, and ones that JSON or SQL escape. */
const CHARACTERS = 'x|ü|€|𝄞|\u200b|\u0301|\u202e|"|\\|\u0001|\n|\t|%|\'|\u007f|\ufeff|\uffff|\u2028|.'.split(
  '|',
);
const WORDS =
  '__proto__|constructor|toString|hasOwnProperty| |0|-0|NaN|null|\\N|\\0|$IF_HOT$|{x:String}|%|_|..'.split(
    '|',
  );
const NUMBERS = [
  0,
  -0,
  5e-324,
  -1.7976931348623157e308,
  1.7976931348623157e308,
  2 ** 53,
  -(2 ** 63),
  0.1,
  1e21,
  1e-7,
];
/** The places of 1970 and 2200, of seconds and milliseconds, and of a leap day; a time to come is replaced by now. */
const TIMES = [
  ...['1970-01-01', '2000-02-29T23:59:59.999999999Z', '2199-12-31T23:59:59.999Z'],
  ...[100_000_000, 100_000_000_000, 7_258_118_399_999, 7_258_118_399.999, 1_600_000_000.000_5],
];
const CURRENCIES = ['USD', 'EUR', 'JPY', 'KWD', 'CLF', 'IDR'] as const;
const DECIMALS = { USD: 2, EUR: 2, JPY: 0, KWD: 3, CLF: 4, IDR: 2 } as const;

/** At most `max` UTF-16 units and `bytesMax` bytes, and as long as that allows. */
function filled(character: string, max: number, bytesMax = Number.POSITIVE_INFINITY): string {
  const count = Math.min(
    Math.floor(max / character.length),
    Math.floor(bytesMax / Buffer.byteLength(character)),
  );
  return character.repeat(count);
}

/** Texts of any length up to `max`, most of them that long; not empty. */
const textOf = (max: number, bytesMax?: number) =>
  fc.oneof(
    fc.constantFrom(...CHARACTERS).map((character) => filled(character, max, bytesMax)),
    fc.constantFrom(...WORDS).map((word) => word.slice(0, max)),
  );
const identityOf = (max = IDENTITY_MAX) => fc.oneof(textOf(max), fc.constantFrom(...NUMBERS));
const leaf = fc.oneof(
  textOf(VALUE_MAX_BYTES, 512),
  fc.constantFrom<unknown>(...NUMBERS, true, false, null, '1e99', `-${'9'.repeat(100)}e99`, '1e-99'),
);
const nested = (depth: number): unknown => (depth === 0 ? 'deep' : { a: nested(depth - 1) });

/** Free properties: as many keys as are allowed, long keys, the longest values, or the deepest tree. */
const freeProperties = fc.oneof(
  leaf.map((value) => keyed(KEYS_MAX, (index) => [`k${index}`, value], 40_000)),
  fc
    .constantFrom(...CHARACTERS)
    .map((character) =>
      keyed(KEYS_MAX, (index) => [`${filled(character, KEY_MAX - 3, KEY_MAX)}${index}`, index], 40_000),
    ),
  fc
    .constantFrom(...CHARACTERS)
    .map((character) =>
      keyed(9, (index) => [`v${index}`, filled(character, VALUE_MAX_BYTES, VALUE_MAX_BYTES)], 40_000),
    ),
  fc.constant({
    tree: nested(DEPTH_MAX - 2),
    list: Array.from({ length: KEYS_MAX - 1 }, (_, index) => index),
  }),
  leaf.map((value) => Object.fromEntries(WORDS.map((word) => [word, value]))),
  fc.constantFrom(...NUMBERS).map((number) => ({ price: number, text: '1e99' })),
);

/** Entries up to a size as JSON. */
function keyed(count: number, entryOf: (index: number) => [string, unknown], bytesMax: number) {
  const entries: [string, unknown][] = [];
  let bytes = 0;
  for (let index = 0; index < count; index += 1) {
    const entry = entryOf(index);
    bytes += Buffer.byteLength(JSON.stringify(entry));
    if (bytes > bytesMax) break;
    entries.push(entry);
  }
  return Object.fromEntries(entries);
}

const someOf = <Fields extends object>(fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> }) =>
  fc.record(fields, { requiredKeys: [] });

const reserved = someOf({
  __path: fc.oneof(
    textOf(3_000),
    textOf(1_000).map((text) => `https://a.example/${text}?utm_source=${text}#${text}`),
  ),
  __referrer: fc.constantFrom(
    '',
    `https://www.google.com/${'r'.repeat(3_000)}`,
    'https://[::1]:65535/',
    'https://ü.example/',
  ),
  __title: textOf(2_000),
  __language: fc.oneof(textOf(300), fc.constant('de-DE-1996')),
  __timezone: fc.oneof(textOf(300), fc.constant('America/Argentina/ComodRivadavia')),
  __screen: fc.constantFrom('20000x20000', '1x1', '20001x1', '0x0', '9'.repeat(400)),
  __ip: fc.constantFrom(
    '255.255.255.255',
    '0.0.0.0',
    '::',
    '2001:4860:4860::8888',
    '8.8.8.8',
    'x'.repeat(400),
  ),
  __os: identityOf(300),
  __osVersion: identityOf(300),
  __browser: identityOf(300),
  __browserVersion: identityOf(300),
  __device: fc.constantFrom(...DEVICES),
  __brand: identityOf(300),
  __model: identityOf(300),
  __timestamp: fc.constantFrom<string | number>(...TIMES),
});

const money = fc.constantFrom(...CURRENCIES).chain((currency) =>
  fc.oneof(
    fc
      .constantFrom(MINOR_UNITS_MAX, 0n, 1n)
      .map((units) => ({ __amount: majorText(units, currency), __currency: currency })),
    fc.constantFrom(Number(MINOR_UNITS_MAX), 0).map((units) => ({ __revenue: units, __currency: currency })),
  ),
);

function majorText(units: bigint, currency: (typeof CURRENCIES)[number]): string {
  const decimals = DECIMALS[currency];
  const digits = String(units).padStart(decimals + 1, '0');
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

const name = fc.oneof(textOf(NAME_MAX), fc.constantFrom('screen_view', 'revenue '));
/** Few devices, so that their sessions grow. */
const device = fc.oneof(textOf(DEVICE_ID_MAX), fc.constant('device'));
const profileId = identityOf();

const trackBody = fc
  .record({
    name,
    device,
    free: freeProperties,
    reserved,
    rest: someOf({
      profileId,
      groups: fc.oneof(
        fc.constant(groupIds(GROUPS_MAX)),
        textOf(IDENTITY_MAX).map((id) => [id]),
      ),
    }),
  })
  .map(({ name: named, device: deviceId, free, reserved: said, rest }) => ({
    type: 'track',
    payload: { name: named, ...rest, properties: { ...free, ...said, __deviceId: deviceId } },
  }));

/** Happens now, so one question includes all of it. */
const moneyBody = fc
  .record({ device, money, profileId })
  .map(({ device: deviceId, money: paid, profileId: payer }) => ({
    type: 'track',
    payload: { name: 'revenue', profileId: payer, properties: { ...paid, __deviceId: deviceId } },
  }));

const identifyBody = fc
  .record({
    profileId,
    free: freeProperties,
    texts: someOf({
      firstName: textOf(ENTITY_TEXT_MAX),
      lastName: textOf(ENTITY_TEXT_MAX),
      email: textOf(ENTITY_TEXT_MAX),
      avatar: textOf(AVATAR_MAX),
    }),
  })
  .map(({ profileId: id, free, texts }) => ({
    type: 'identify',
    payload: { profileId: id, ...texts, properties: free },
  }));

const stepBody = fc
  .record({
    type: fc.constantFrom('increment', 'decrement'),
    property: textOf(KEY_MAX),
    value: fc.constantFrom(1e38, 2 ** 53, 0.1, 1),
  })
  .map(({ type, property, value }) => ({ type, payload: { profileId: 'counted', property, value } }));

const groupBody = fc
  .record({
    id: identityOf(),
    type: textOf(ENTITY_TEXT_MAX),
    name: textOf(ENTITY_TEXT_MAX),
    properties: freeProperties,
  })
  .map((payload) => ({ type: 'group', payload }));

const assignBody = fc
  .record({
    profileId,
    groupIds: fc.oneof(
      fc.constant(groupIds(GROUP_IDS_MAX)),
      textOf(IDENTITY_MAX).map((id) => [id]),
    ),
  })
  .map((payload) => ({ type: 'assign_group', payload }));

function groupIds(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${'g'.repeat(150)}${index}`);
}

/** Bodies of every type that changes something, each within the size limit and with an event id of the full length. */
export function extremeBodies(seed: number, count: number): readonly ExtremeBody[] {
  const body = fc.oneof<fc.WeightedArbitrary<ExtremeBody>[]>(
    { weight: 6, arbitrary: trackBody },
    { weight: 6, arbitrary: moneyBody },
    { weight: 2, arbitrary: identifyBody },
    { weight: 2, arbitrary: stepBody },
    { weight: 1, arbitrary: groupBody },
    { weight: 1, arbitrary: assignBody },
  );
  return fc
    .sample(body, { seed, numRuns: count })
    .map(({ type, payload }, index) => ({
      type,
      payload: { ...payload, eventId: `${index}-`.padEnd(EVENT_ID_MAX, '€') },
    }))
    .filter((each) => Buffer.byteLength(JSON.stringify(each)) <= BODY_MAX_BYTES);
}
