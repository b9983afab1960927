import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTrackBody } from './track-request.ts';
import { trackSchema } from './track-schema.ts';

const parse = (value: unknown) => parseTrackBody(Buffer.from(JSON.stringify(value)));
const track = (payload: unknown, rest: object = {}) => parse({ type: 'track', payload, ...rest });
const withProperties = (text: string) =>
  parseTrackBody(Buffer.from(`{"type":"track","payload":{"name":"a","properties":${text}}}`));

describe('the hand-written parser and the schema', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.constantFrom(
      '',
      'a.b',
      '\0',
      '\ud800',
      'session_end',
      '2024-02-30',
      '1700000000000',
      'é'.repeat(2100),
    ),
    fc.integer({ min: 0, max: 90 }).map((length) => 'n'.repeat(length)),
  );
  const scalar = fc.oneof(text, fc.double(), fc.integer(), fc.boolean(), fc.constant(null));
  const key = fc.oneof(
    fc.constantFrom(
      'a',
      'b',
      'a.b',
      '__path',
      '__title',
      '__timestamp',
      '__deviceId',
      '__amount',
      '__proto__',
      'constructor',
      'x'.repeat(199),
    ),
    fc.string({ maxLength: 5 }),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5, depthSize: 'medium' },
      scalar,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.array(fc.tuple(key, tie('tree')), { maxLength: 5 }).map((pairs) => Object.fromEntries(pairs)),
    ),
  }));
  const properties = fc.oneof(
    { weight: 8, arbitrary: fc.array(fc.tuple(key, tree), { maxLength: 6 }).map(Object.fromEntries) },
    { weight: 1, arbitrary: tree },
    {
      weight: 1,
      arbitrary: fc.integer({ min: 255, max: 258 }).map((count) => Object.fromEntries(keys(count))),
    },
    { weight: 1, arbitrary: fc.integer({ min: 30, max: 34 }).map((depth) => deep(depth)) },
  );
  const payload = fc.record(
    {
      name: fc.oneof({ weight: 5, arbitrary: fc.constant('screen_view') }, { weight: 1, arbitrary: scalar }),
      properties,
      profileId: scalar,
      groups: fc.oneof(fc.array(text, { maxLength: 4 }), tree),
      eventId: text,
    },
    { requiredKeys: ['name'] },
  );
  const body = fc.record(
    {
      type: fc.oneof({ weight: 9, arbitrary: fc.constant('track') }, { weight: 1, arbitrary: text }),
      payload: fc.oneof({ weight: 9, arbitrary: payload }, { weight: 1, arbitrary: tree }),
      clientId: scalar,
      projectId: text,
      other: tree,
    },
    { requiredKeys: ['type', 'payload'] },
  );

  test('agree on verdict and value', () => {
    let taken = 0;
    const runs = 4_000;
    fc.assert(
      fc.property(body, (value) => {
        const json = JSON.stringify(value);
        const byHand = parseTrackBody(Buffer.from(json));
        const bySchema = trackSchema.safeParse(JSON.parse(json));
        expect(byHand.kind).toBe(bySchema.success ? 'track' : 'reject');
        if (bySchema.success) {
          expect(byHand).toEqual(bySchema.data);
          taken += 1;
        }
      }),
      { numRuns: runs },
    );
    expect(taken).toBeGreaterThan(runs / 20);
  });

  function keys(count: number): [string, number][] {
    return Array.from({ length: count }, (_, index) => [`k${index}`, index]);
  }
});

test.each([
  ['no object', [], 'body: expected an object'],
  ['null', null, 'body: expected an object'],
  ['no type', { payload: {} }, 'type: expected "track"'],
  ['a type that is not taken', { type: 'identify', payload: {} }, 'type: expected "track"'],
  ['no payload', { type: 'track' }, 'payload: expected an object'],
  ['no name', { type: 'track', payload: {} }, 'payload.name: expected a non-empty string'],
  ['an empty name', { type: 'track', payload: { name: '' } }, 'payload.name: expected a non-empty string'],
  ['a long name', { type: 'track', payload: { name: 'n'.repeat(81) } }, 'payload.name: expected at most 80'],
  ['a reserved name', { type: 'track', payload: { name: 'session_end' } }, 'payload.name: expected a name'],
  ['a number as event id', { type: 'track', payload: { name: 'a', eventId: 5 } }, 'payload.eventId: '],
  ['an empty event id', { type: 'track', payload: { name: 'a', eventId: '' } }, 'payload.eventId: '],
  ['an object as profile', { type: 'track', payload: { name: 'a', profileId: {} } }, 'payload.profileId: '],
  [
    'a group that is no text',
    { type: 'track', payload: { name: 'a', groups: ['x', 1] } },
    'payload.groups.1: ',
  ],
  [
    'properties that are a list',
    { type: 'track', payload: { name: 'a', properties: [] } },
    'payload.properties: ',
  ],
  [
    'a path that is no text',
    { type: 'track', payload: { name: 'a', properties: { __path: 1 } } },
    'payload.properties.__path: ',
  ],
  [
    'an impossible time',
    { type: 'track', payload: { name: 'a', properties: { __timestamp: '2023-02-30T00:00:00Z' } } },
    'payload.properties.__timestamp: ',
  ],
  [
    'a NUL below',
    { type: 'track', payload: { name: 'a', properties: { a: { b: '\0' } } } },
    'payload.properties.a.b: ',
  ],
  [
    'half a pair',
    { type: 'track', payload: { name: 'a', properties: { a: { b: '\ud800' } } } },
    'payload.properties.a.b: ',
  ],
  [
    'a huge value',
    { type: 'track', payload: { name: 'a', properties: { a: 'v'.repeat(4097) } } },
    'payload.properties.a: ',
  ],
  ['too deep', { type: 'track', payload: { name: 'a', properties: deep(33) } }, 'payload.properties.d.d'],
])('refuses %s and names the field', (_, value, message) => {
  const parsed = parse(value);
  expect(parsed).toMatchObject({ kind: 'reject', reason: 'schema' });
  expect(parsed.kind === 'reject' && parsed.message).toContain(message);
});

test('refuses what is not JSON, and broken UTF-8, each by its own reason', () => {
  expect(parseTrackBody(Buffer.from('{"type":'))).toMatchObject({ reason: 'not-json' });
  expect(parseTrackBody(Buffer.alloc(0))).toMatchObject({ reason: 'not-json' });
  expect(parseTrackBody(Buffer.from([0x22, 0xc3, 0x28, 0x22]))).toMatchObject({ reason: 'not-utf8' });
  expect(parseTrackBody(Buffer.from('['.repeat(60_000)))).toMatchObject({ reason: 'not-json' });
  expect(withProperties('{"a":1e999}')).toMatchObject({ message: expect.stringContaining('finite') });
});

test('of two equal keys the later one counts, also when they are spelled differently', () => {
  expect(withProperties('{"a":1,"a":2}')).toMatchObject({ properties: ['a', '2'] });
  expect(withProperties('{"a.b":1,"a":{"b":2}}')).toMatchObject({ properties: ['a.b', '2'] });
});

test('keys that name inherited things are data and change nothing', () => {
  const parsed = withProperties('{"__proto__":{"polluted":1},"constructor":"c","a":{"__proto__":2}}');
  expect(parsed).toMatchObject({
    properties: ['__proto__.polluted', '1', 'constructor', 'c', 'a.__proto__', '2'],
  });
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
});

test('reads the whole of a good body', () => {
  const parsed = track(
    {
      name: 'screen_view',
      profileId: 12,
      groups: ['g'],
      eventId: 'e',
      properties: {
        __path: 'https://a.example/x',
        __referrer: 'r',
        __title: 't',
        __timestamp: 1_700_000_000_000,
        __deviceId: 'd',
        __ip: '1.2.3.4',
        __revenue: 5,
        list: [1, { x: true }, null],
      },
    },
    { clientId: 'c', clientSecret: 's', projectId: 'p', unknown: 1 },
  );
  expect(parsed).toEqual({
    kind: 'track',
    clientId: 'c',
    clientSecret: 's',
    projectId: 'p',
    name: 'screen_view',
    profileId: '12',
    eventId: 'e',
    groups: ['g'],
    properties: ['list.0', '1', 'list.1.x', 'true'],
    path: 'https://a.example/x',
    referrer: 'r',
    title: 't',
    timestampMs: 1_700_000_000_000,
    deviceId: 'd',
    address: '1.2.3.4',
  });
});

function deep(depth: number): Record<string, unknown> {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = { d: value };
  return value as Record<string, unknown>;
}
