import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseBatchBody, parseTrackBody } from './request/track-request.ts';
import { array, type JsonNode, nested, object, plain, raw, textOf } from './testing/json-text.ts';
import { verdictOf, verdictsOf } from './testing/schema-verdict.ts';

// The hand-written parser and the schema agree on every body, in verdict and value. Bodies are written as text, so that keys
// can be given twice and numbers can be ones that no double holds.

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom(
    '',
    'a.b',
    '\0',
    '\ud800',
    'session_end',
    'revenue',
    '2024-02-30',
    '1700000000000',
    '1700000000',
    'https://a.example/x',
    'about:blank',
    'é'.repeat(2100),
  ),
  fc.constantFrom(64, 65, 80, 81, 200, 201, 256, 257, 2048, 2049, 4097).map((length) => 'n'.repeat(length)),
);
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.integer().map(String),
  fc.constantFrom(
    '1e999',
    '-1e999',
    '-0',
    '0',
    '5e-324',
    '1e39',
    '1e40',
    '9007199254740991',
    '9007199254740992',
  ),
);
const scalar: fc.Arbitrary<JsonNode> = fc.oneof(
  text.map(plain),
  number.map(raw),
  number.map((digits) => plain(digits)),
  fc.constantFrom(plain(true), plain(false), plain(null)),
);
const key = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'a.b',
    '__path',
    '__title',
    '__referrer',
    '__timestamp',
    '__deviceId',
    '__ip',
    '__userAgent',
    '__os',
    '__model',
    '__device',
    '__language',
    '__timezone',
    '__screen',
    '__amount',
    '__proto__',
  ),
  fc.constantFrom(
    'constructor',
    'toString',
    '__currency',
    '__orderId',
    '__refund',
    '__revenue',
    'x'.repeat(199),
  ),
  fc.string({ maxLength: 5 }),
);
const { tree } = fc.letrec<{ tree: JsonNode }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5, depthSize: 'medium' },
    scalar,
    fc.array(tie('tree'), { maxLength: 3 }).map(array),
    fc.array(fc.tuple(key, tie('tree')), { maxLength: 5 }).map(membersOf),
  ),
}));
/** Values that no field or only some fields accept. */
const odd = fc.oneof(
  tree,
  fc.constantFrom(30, 31, 32, 33, 100).map((depth) => nested(plain(1), depth, 'object')),
  fc.constantFrom(100).map((depth) => nested(plain(1), depth, 'array')),
  fc.constantFrom(raw('{"__proto__":{"a":1}}'), raw('[]'), raw('{}')),
);

const id = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('p1', 'p2', '7').map(plain) },
  { weight: 1, arbitrary: text.map(plain) },
  { weight: 1, arbitrary: number.map(raw) },
);
const amount = mostly(
  fc.constantFrom(raw('19.99'), plain('19.99'), raw('1e12'), plain('0.001'), raw('90071992547409.92')),
);
const minorUnits = mostly(fc.constantFrom(raw('0'), raw('1999'), raw('1e3')));
const order = {
  __currency: mostly(fc.constantFrom('EUR', 'usd', 'CLF', 'JPY', 'XXX', 'u\u017fd').map(plain)),
  __orderId: id,
  __refund: mostly(fc.constantFrom(plain(true), plain(false), plain(null))),
  __deviceId: fc.constant(plain('d')),
};
const money = fc.oneof(
  { weight: 4, arbitrary: fields({ __amount: amount, ...order }) },
  { weight: 4, arbitrary: fields({ __revenue: minorUnits, ...order }) },
  { weight: 1, arbitrary: fields({ __amount: amount, __revenue: minorUnits, ...order }) },
);
const free = fc.array(fc.tuple(key, tree), { maxLength: 6 }).map(membersOf);
const properties = fc.oneof(
  { weight: 8, arbitrary: free },
  { weight: 1, arbitrary: fc.integer({ min: 255, max: 258 }).map(manyKeys) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 30, max: 34 }).map((depth) => nested(plain(1), depth, 'object')),
  },
);
const shortText = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom('', 'Ada').map(plain) },
  { weight: 1, arbitrary: text.map(plain) },
);
const name = fc.oneof(
  { weight: 10, arbitrary: fc.constant(plain('signup')) },
  { weight: 1, arbitrary: text.map(plain) },
);
const eventId = fc.oneof(fc.constant(plain('e1')), text.map(plain));
const texts = fc
  .array(fc.oneof({ weight: 5, arbitrary: name }, { weight: 1, arbitrary: scalar }), { maxLength: 4 })
  .map(array);
const manyTexts = fc
  .constantFrom(256, 257)
  .map((count) => array(Array.from({ length: count }, () => plain('g'))));
const ids = fc.oneof({ weight: 8, arbitrary: texts }, { weight: 1, arbitrary: manyTexts });
const step = fields({
  profileId: id,
  property: name,
  value: fc.oneof(fc.constantFrom('2', '0.5', '1e-7').map(raw), number.map(raw)),
  eventId,
});

const PAYLOADS: Readonly<Record<string, fc.Arbitrary<JsonNode>>> = {
  track: fields({ name, properties, profileId: id, groups: ids, eventId }),
  identify: fields({
    profileId: id,
    firstName: shortText,
    lastName: shortText,
    email: shortText,
    avatar: shortText,
    properties,
    eventId,
  }),
  increment: step,
  decrement: step,
  group: fields({ id, type: name, name, properties, eventId }),
  assign_group: fields({ groupIds: ids, profileId: id, eventId }),
  alias: fields({ profileId: id, alias: id, eventId }),
  replay: fields({ chunk_index: fc.constant(plain(0)), payload: text.map(plain) }),
  revenue: fields({ name: fc.constant(plain('revenue')), properties: money, eventId }),
};
const body = fc.constantFrom(...Object.keys(PAYLOADS)).chain((kind) =>
  fields({
    type: fc.oneof(
      { weight: 20, arbitrary: fc.constant(plain(kind === 'revenue' ? 'track' : kind)) },
      { weight: 1, arbitrary: text.map(plain) },
    ),
    payload: PAYLOADS[kind] ?? odd,
    clientId: shortText,
    clientSecret: shortText,
    projectId: shortText,
    eventId: fc.oneof({ weight: 4, arbitrary: eventId }, { weight: 4, arbitrary: fc.constant(plain(null)) }),
  }),
);

test('the hand-written parser and the schema agree on verdict and value', { timeout: 120_000 }, () => {
  const taken = new Map<string, number>();
  const runs = 10_000;
  fc.assert(
    fc.property(body, (node) => {
      const bytes = Buffer.from(textOf(node));
      const byHand = parseTrackBody(bytes);
      expect(byHand.kind === 'reject' ? undefined : byHand).toStrictEqual(verdictOf(bytes));
      const kind = byHand.kind === 'track' && byHand.revenue !== undefined ? 'revenue' : byHand.kind;
      taken.set(kind, (taken.get(kind) ?? 0) + 1);
    }),
    { numRuns: runs },
  );
  const kinds = [
    'alias',
    'assign_group',
    'group',
    'identify',
    'reject',
    'replay',
    'revenue',
    'step',
    'track',
  ];
  expect([...taken.keys()].sort()).toEqual(kinds);
  expect(Math.min(...taken.values())).toBeGreaterThan(runs / 200);
});

test('the parser and the schema agree on each body of a batch', { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 5, arbitrary: body }, { weight: 1, arbitrary: tree }), { maxLength: 5 }),
      (nodes) => {
        const bytes = Buffer.from(textOf(array(nodes)));
        const byHand = parseBatchBody(bytes);
        const accepted =
          byHand.kind === 'batch' && byHand.bodies.map((each) => (each.kind === 'reject' ? undefined : each));
        expect(accepted).toStrictEqual(verdictsOf(bytes)?.map((each) => each.accepted) ?? false);
      },
    ),
    { numRuns: 1_000 },
  );
});

function mostly(value: fc.Arbitrary<JsonNode>): fc.Arbitrary<JsonNode> {
  return fc.oneof({ weight: 12, arbitrary: value }, { weight: 1, arbitrary: scalar });
}

/** An object with these fields: most valid, some missing, odd, or given twice, where the last one counts. */
function fields(values: Readonly<Record<string, fc.Arbitrary<JsonNode>>>): fc.Arbitrary<JsonNode> {
  const members = Object.entries(values).map(([name, value]) =>
    fc.oneof(
      { weight: 36, arbitrary: value.map((node): [string, JsonNode][] => [[name, node]]) },
      { weight: 4, arbitrary: fc.constant<[string, JsonNode][]>([]) },
      { weight: 1, arbitrary: odd.map((node): [string, JsonNode][] => [[name, node]]) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(odd, value)
          .map((nodes): [string, JsonNode][] => nodes.map((node) => [name, node])),
      },
    ),
  );
  return fc.tuple(...members).map((all) => membersOf(all.flat()));
}

function membersOf(members: [string, JsonNode][]): JsonNode {
  return { kind: 'object', members };
}

function manyKeys(count: number): JsonNode {
  return object(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, plain(index)])));
}
