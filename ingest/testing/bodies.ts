import { changeSomething, damaged, encoded, oddBody } from './body-damage.ts';
import { array, type JsonNode, object, plain, raw, textOf } from './json-text.ts';
import { SeededRandom } from './random.ts';

/**
 * An endless sequence of request bodies, the same for the same seed: valid ones of every type, batches, and invalid
 * ones. Some are invalid in content (a type with another's payload, equal keys, prototype keys, numbers that no double
 * holds, texts too long or too deep), some in their bytes. A batch begins with `[`.
 */
export function* bodiesFrom(seed: number): Generator<Buffer, never> {
  const random = new SeededRandom(seed);
  for (;;) yield random.chance(0.03) ? oddBody(random) : composedBody(random);
}

function composedBody(random: SeededRandom): Buffer {
  const root = random.chance(0.12) ? batch(random) : body(random);
  const changes = random.chance(0.5) ? random.integer(1, 3) : 0;
  for (let change = 0; change < changes; change += 1) changeSomething(random, root);
  const bytes = encoded(random, textOf(root));
  return random.chance(0.08) ? damaged(random, bytes) : bytes;
}

function batch(random: SeededRandom): JsonNode {
  if (random.chance(0.0005))
    return array(Array.from({ length: random.integer(1999, 2002) }, () => body(random)));
  const bodies = Array.from({ length: random.integer(1, 8) }, () => body(random));
  // One body above the size limit, or several that exceed it only together.
  if (random.chance(0.02)) bodies.push(object({ type: plain('track'), note: plain('n'.repeat(70_000)) }));
  if (random.chance(0.02)) bodies.push(...Array.from({ length: 3 }, () => bodyWithNote(random, 30_000)));
  return array(bodies);
}

function bodyWithNote(random: SeededRandom, length: number): JsonNode {
  const node = body(random);
  if (node.kind === 'object') node.members.push(['note', plain('n'.repeat(length))]);
  return node;
}

/** A valid body. */
function body(random: SeededRandom): JsonNode {
  const type = random.one(TYPES);
  return object({
    type: plain(type),
    payload: PAYLOADS[type](random),
    clientId: maybe(random, 0.2, () => plain('7f9d2c6e-3b1a-4a55-9f0e-52c1d1b8e001')),
    clientSecret: maybe(random, 0.1, () => plain(`sec_${'0f'.repeat(20)}`)),
    projectId: maybe(random, 0.2, () => plain(random.one(['demo', 'elsewhere']))),
    eventId: maybe(random, 0.05, () => plain(`event-${random.below(10_000)}`)),
  });
}

const TYPES = [
  'track',
  'track',
  'identify',
  'increment',
  'decrement',
  'group',
  'assign_group',
  'alias',
  'replay',
] as const;

const PAYLOADS: Readonly<Record<(typeof TYPES)[number], (random: SeededRandom) => JsonNode>> = {
  track: (random) => (random.chance(0.35) ? revenuePayload(random) : eventPayload(random)),
  identify: (random) =>
    object({
      profileId: id(random),
      firstName: maybe(random, 0.5, () => text(random)),
      lastName: maybe(random, 0.5, () => text(random)),
      email: maybe(random, 0.5, () => plain('a@b.example')),
      avatar: maybe(random, 0.3, () => plain('https://a.example/a.png')),
      properties: maybe(random, 0.5, () => properties(random)),
      ...eventId(random),
    }),
  increment: stepPayload,
  decrement: stepPayload,
  group: (random) =>
    object({
      id: id(random),
      type: plain('company'),
      name: text(random),
      properties: maybe(random, 0.5, () => properties(random)),
      ...eventId(random),
    }),
  assign_group: (random) =>
    object({
      groupIds: array(Array.from({ length: random.integer(1, 4) }, () => plain(`g${random.below(50)}`))),
      profileId: maybe(random, 0.5, () => id(random)),
      ...eventId(random),
    }),
  alias: (random) =>
    object({ profileId: id(random), alias: plain(`alias-${random.below(500)}`), ...eventId(random) }),
  replay: (random) => object({ chunk_index: plain(random.below(9)), payload: text(random) }),
};

function eventPayload(random: SeededRandom): JsonNode {
  const groups = () => array([plain('g1'), plain(`g${random.below(9)}`)]);
  return object({
    name: plain(random.one(['screen_view', 'link_out', 'signup', 'größe'])),
    properties: maybe(random, 0.8, () => properties(random)),
    profileId: maybe(random, 0.3, () => id(random)),
    groups: maybe(random, 0.2, groups),
    ...eventId(random),
  });
}

function revenuePayload(random: SeededRandom): JsonNode {
  const isRefund = random.chance(0.3);
  const inMinorUnits = random.chance(0.3);
  const major = () =>
    random.one([plain(19.99), plain('19.99'), plain(0), raw('0.30000000000000004'), raw('1e2')]);
  const named = object({
    __amount: inMinorUnits ? undefined : maybe(random, isRefund ? 0.5 : 1, major),
    __revenue: inMinorUnits ? plain(random.below(100_000)) : undefined,
    __currency: maybe(random, 0.7, () => plain(random.one(['EUR', 'usd', 'JPY', 'Kwd', 'CLF']))),
    __orderId: maybe(random, isRefund ? 1 : 0.7, () => id(random)),
    __refund: isRefund ? plain(true) : maybe(random, 0.2, () => plain(false)),
    __deviceId: maybe(random, 0.3, () => plain('0123456789abcdef'.repeat(2))),
    note: maybe(random, 0.3, () => text(random)),
  });
  return object({ name: plain('revenue'), properties: named, ...eventId(random) });
}

function stepPayload(random: SeededRandom): JsonNode {
  const value = () => random.one([plain(1), plain(0.1), raw('2.50'), raw('1e-7'), raw('1e21'), plain(null)]);
  return object({
    profileId: id(random),
    property: plain(random.one(['logins', 'plan.seats', 'größe'])),
    value: maybe(random, 0.7, value),
    ...eventId(random),
  });
}

function properties(random: SeededRandom): JsonNode {
  return object({
    __path: maybe(random, 0.6, () => plain('https://a.example/p?utm_source=x#y')),
    __referrer: maybe(random, 0.3, () => plain('https://www.google.com/')),
    __title: maybe(random, 0.3, () => text(random)),
    __timestamp: maybe(random, 0.2, () =>
      random.one([plain('2024-02-29T12:00:00Z'), plain(1_700_000_000_000), plain(1_700_000_000)]),
    ),
    __deviceId: maybe(random, 0.1, () => plain('device-1')),
    __ip: maybe(random, 0.1, () => plain('203.0.113.7')),
    __userAgent: maybe(random, 0.1, () => plain('okhttp/4.12.0')),
    __os: maybe(random, 0.1, () => plain('iOS')),
    __osVersion: maybe(random, 0.1, () => random.one([plain('17.2'), plain(14)])),
    __device: maybe(random, 0.1, () => plain(random.one(['mobile', 'Tablet', 'server']))),
    __language: maybe(random, 0.2, () => plain(random.one(['de-DE', 'pt_br', 'none']))),
    __timezone: maybe(random, 0.2, () => plain(random.one(['Asia/Kolkata', 'Europe/Kiev', '+01:00']))),
    __screen: maybe(random, 0.2, () => plain(random.one(['1920x1080', '0x0']))),
    plan: maybe(random, 0.5, () => text(random)),
    seats: maybe(random, 0.5, () => plain(random.below(1_000))),
    cart: maybe(random, 0.3, () => array([object({ sku: text(random), count: plain(2) }), plain(true)])),
    'a.b': maybe(random, 0.1, () => plain(1)),
    a: maybe(random, 0.1, () => object({ b: plain(2) })),
  });
}

function eventId(random: SeededRandom): Readonly<Record<string, JsonNode | undefined>> {
  return { eventId: maybe(random, 0.2, () => plain(`event-${random.below(10_000)}`)) };
}

function id(random: SeededRandom): JsonNode {
  return random.chance(0.2) ? plain(random.below(1_000)) : plain(`id-${random.below(1_000)}`);
}

function text(random: SeededRandom): JsonNode {
  return plain(
    random.one([
      'Ada',
      '',
      'Größe 42',
      '日本語',
      '😀 emoji',
      'a "quoted" \\ text',
      'tab\tand\nline',
      '\u2028',
    ]),
  );
}

function maybe(random: SeededRandom, share: number, make: () => JsonNode): JsonNode | undefined {
  return random.chance(share) ? make() : undefined;
}
