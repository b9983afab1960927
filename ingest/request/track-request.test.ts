import { describe, expect, test } from 'vitest';
import { NO_SOFTWARE_CLAIM } from '../enrich/software-claim.ts';
import { deep, fieldOf, parseFields } from '../testing/field-cases.ts';
import { BODY_MAX_BYTES, type ParsedBody, parseBatchBody, parseTrackBody } from './track-request.ts';

const parse = (value: unknown) => parseTrackBody(Buffer.from(JSON.stringify(value)));
const track = (payload: unknown, rest: object = {}) => parse({ type: 'track', payload, ...rest });
const withProperties = (text: string) =>
  parseTrackBody(Buffer.from(`{"type":"track","payload":{"name":"a","properties":${text}}}`));

const TYPES =
  'type: expected "track" or "identify" or "increment" or "decrement" or "group" or "assign_group" or "alias" or "replay"';
const PAYLOAD = 'payload: expected an object';
const BODY = 'body: expected an object with type and payload';
const BROKEN = 'expected text without NUL or lone surrogates';
const long = (length: number) => JSON.stringify('n'.repeat(length));
const list = (count: number) => JSON.stringify(Array.from({ length: count }, () => 'g'));

test.each([
  ['[]', BODY],
  ['null', BODY],
  ['"track"', BODY],
  ['7', BODY],
  ['[{"type":"track","payload":{"name":"a"}}]', BODY],
  ['{}', TYPES],
  ['{"payload":{}}', TYPES],
  ['{"type":"Replay","payload":{}}', TYPES],
  ['{"type":"replay"}', PAYLOAD],
  ['{"type":"replay","payload":{},"eventId":7}', 'eventId: expected a string'],
  ['{"type":"Track","payload":{}}', TYPES],
  ['{"type":null,"payload":{}}', TYPES],
  ['{"type":["track"],"payload":{}}', TYPES],
  ['{"type":"__proto__","payload":{}}', TYPES],
  ['{"type":"track","type":"toString","payload":{"name":"a"}}', TYPES],
  ['{"type":"track"}', PAYLOAD],
  ['{"type":"alias","payload":null}', PAYLOAD],
  ['{"type":"group","payload":[]}', PAYLOAD],
  ['{"type":"track","payload":"name"}', PAYLOAD],
  ['{"type":"track","payload":{"name":"a"},"payload":1}', PAYLOAD],
  ['{"type":"track","payload":{"name":"a"},"clientId":7}', 'clientId: expected a string'],
  ['{"type":"track","payload":{"name":"a"},"clientSecret":{}}', 'clientSecret: expected a string'],
  ['{"type":"track","payload":{"name":"a"},"projectId":[]}', 'projectId: expected a string'],
  [
    `{"type":"track","payload":{"name":"a"},"projectId":${long(257)}}`,
    'projectId: expected at most 256 characters',
  ],
  ['{"type":"alias","payload":{"profileId":"p","alias":"a"},"clientId":7}', 'clientId: expected a string'],
  ['{"type":"track","payload":{"name":"a"},"projectId":"\\ud800"}', `projectId: ${BROKEN}`],
])('%s is rejected', (json, message) => {
  expect(parseTrackBody(Buffer.from(json))).toEqual({ kind: 'reject', reason: 'schema', message });
});

const NAME = 'rejected: payload.name: expected a non-empty string of at most 80 characters';
const FIELDS: [field: string, json: string | undefined, expected: unknown][] = [
  ['name', '"größe"', 'größe'],
  ['name', long(80), 'n'.repeat(80)],
  ['name', long(81), 'rejected: payload.name: expected at most 80 characters'],
  ['name', '""', NAME],
  ['name', undefined, NAME],
  ['name', 'null', NAME],
  ['name', '7', NAME],
  ['name', '["a"]', NAME],
  [
    'name',
    '"session_start"',
    'rejected: payload.name: expected a name other than session_start, which is reserved',
  ],
  [
    'name',
    '"session\\u005fend"',
    'rejected: payload.name: expected a name other than session_end, which is reserved',
  ],
  ['name', '"a\\u0000"', `rejected: payload.name: ${BROKEN}`],
  ['profileId', '"p"', 'p'],
  ['profileId', '12', '12'],
  ['profileId', '-0', '0'],
  ['profileId', undefined, ''],
  ['profileId', 'null', ''],
  ['profileId', '""', ''],
  ['profileId', long(257), 'rejected: payload.profileId: expected at most 256 characters'],
  ['profileId', '{}', 'rejected: payload.profileId: expected a string or a number'],
  ['profileId', 'true', 'rejected: payload.profileId: expected a string or a number'],
  ['profileId', deep(32), 'rejected: payload.profileId: expected a string or a number'],
  ['profileId', '1e999', 'rejected: payload.profileId: expected a finite number'],
  ['groups', '["a",""]', ['a', '']],
  ['groups', '[]', []],
  ['groups', 'null', []],
  ['groups', undefined, []],
  ['groups', list(256), JSON.parse(list(256))],
  ['groups', list(257), 'rejected: payload.groups: expected at most 256 groups'],
  ['groups', '"a"', 'rejected: payload.groups: expected an array of strings'],
  ['groups', '{"0":"a"}', 'rejected: payload.groups: expected an array of strings'],
  ['groups', '["a",1]', 'rejected: payload.groups.1: expected a string'],
  ['groups', '[null]', 'rejected: payload.groups.0: expected a string'],
  ['groups', `[${long(257)}]`, 'rejected: payload.groups.0: expected at most 256 characters'],
  ['groups', '["\\udc00"]', `rejected: payload.groups.0: ${BROKEN}`],
  ['eventId', '"e"', 'e'],
  ['eventId', undefined, ''],
  ['eventId', 'null', ''],
  ['eventId', long(64), 'n'.repeat(64)],
  ['eventId', long(65), 'rejected: payload.eventId: expected at most 64 characters'],
  ['eventId', '""', 'rejected: payload.eventId: expected 1 to 64 characters'],
  ['eventId', '5', 'rejected: payload.eventId: expected a string'],
  [
    'properties',
    '{"a":"","b":0,"c":false,"d":null,"e":1e21}',
    ['a', '', 'b', '0', 'c', 'false', 'e', '1e+21'],
  ],
  ['properties', '[]', 'rejected: payload.properties: expected an object'],
  ['properties', 'false', 'rejected: payload.properties: expected an object'],
  ['properties', '{"a":{"b":"\\u0000"}}', `rejected: payload.properties.a.b: ${BROKEN}`],
  ['properties', '{"a":{"b":"\\ud800"}}', `rejected: payload.properties.a.b: ${BROKEN}`],
  ['properties', '{"a":-1e999}', 'rejected: payload.properties.a: expected a finite number'],
  ['properties', `{"a":${long(4097)}}`, 'rejected: payload.properties.a: expected at most 4096 bytes'],
  ['properties', `{"a":[${'{},'.repeat(1022)}{}]}`, []],
  [
    'properties',
    `{"a":[${'[],'.repeat(1023)}[]]}`,
    'rejected: payload.properties: expected at most 1024 objects and arrays',
  ],
  ['properties', deep(32), ['d'.concat('.d'.repeat(31)), '1']],
  ['properties', deep(33), 'rejected: body: expected at most 32 levels below payload'],
  ['properties', deep(100), 'rejected: body: expected at most 32 levels below payload'],
  ['properties', '{"__path":1}', 'rejected: payload.properties.__path: expected a string'],
  ['properties', '{"__referrer":[]}', 'rejected: payload.properties.__referrer: expected a string'],
  [
    'properties',
    '{"__referrer":"x"}',
    'rejected: payload.properties.__referrer: expected a URL such as https://example.com/, or an empty string',
  ],
  ['properties', '{"__referrer":"","a":1}', ['a', '1']],
  ['properties', '{"__title":{}}', 'rejected: payload.properties.__title: expected a string'],
  ['properties', '{"__language":["de"]}', 'rejected: payload.properties.__language: expected a string'],
  ['properties', '{"__timezone":60}', 'rejected: payload.properties.__timezone: expected a string'],
  ['properties', '{"__screen":1920}', 'rejected: payload.properties.__screen: expected a string'],
  ['properties', '{"__screen":"\\u0000"}', `rejected: payload.properties.__screen: ${BROKEN}`],
  ['properties', '{"__language":null,"__timezone":"x","__screen":"y","a":1}', ['a', '1']],
  ['properties', '{"__ip":7}', 'rejected: payload.properties.__ip: expected a string'],
  ['properties', '{"__deviceId":""}', 'rejected: payload.properties.__deviceId: expected 1 to 64 characters'],
  ['properties', '{"__userAgent":7}', 'rejected: payload.properties.__userAgent: expected a string'],
  ['properties', '{"__os":{}}', 'rejected: payload.properties.__os: expected a string or a number'],
  ['properties', '{"__model":1e999}', 'rejected: payload.properties.__model: expected a finite number'],
  [
    'properties',
    '{"__device":"fridge"}',
    'rejected: payload.properties.__device: expected one of desktop, mobile, tablet, tv, console, server',
  ],
  ['properties', '{"__device":"","__os":null,"__version":"1.2"}', ['__version', '1.2']],
  [
    'properties',
    '{"__timestamp":"2023-02-30T00:00:00Z"}',
    'rejected: payload.properties.__timestamp: expected an ISO 8601 time, epoch milliseconds or epoch seconds, from 1970 to 2200',
  ],
];

test.each(FIELDS)('track: %s: %s', (field, json, expected) => {
  expect(fieldOf(parseFields('track', { name: '"a"', [field]: json }), field)).toEqual(expected);
});

test('a referrer that is none is ignored in a body that records no event', () => {
  const identify = { profileId: 'p', properties: { __referrer: 'x', a: 1 } };
  expect(parse({ type: 'identify', payload: identify })).toMatchObject({ properties: ['a', '1'] });
});

test('a replay is read without its recording, whatever that holds', () => {
  const payload = { chunk_index: 0, payload: '[]', properties: { __timestamp: 'never' } };
  expect(parse({ type: 'replay', payload, clientId: 'c' })).toStrictEqual({
    kind: 'replay',
    clientId: 'c',
    clientSecret: '',
    projectId: '',
    eventId: '',
    deviceId: '',
    address: '',
    userAgent: '',
    software: NO_SOFTWARE_CLAIM,
  });
});

test('invalid JSON and broken UTF-8 are rejected, each with its own reason', () => {
  expect(parseTrackBody(Buffer.from('{"type":'))).toMatchObject({ reason: 'not-json' });
  expect(parseTrackBody(Buffer.alloc(0))).toMatchObject({ reason: 'not-json' });
  expect(parseTrackBody(Buffer.from([0x22, 0xc3, 0x28, 0x22]))).toMatchObject({ reason: 'not-utf8' });
  expect(parseTrackBody(Buffer.from('['.repeat(30)))).toMatchObject({ reason: 'not-json' });
  expect(withProperties('{"a":1e999}')).toMatchObject({ message: expect.stringContaining('finite') });
});

test('a body that is nested too deeply is rejected before it is parsed, wherever it is', () => {
  const tooDeep = { reason: 'schema', message: 'body: expected at most 32 levels below payload' };
  // No JSON at all: a parser that had seen it would say so.
  expect(parseTrackBody(Buffer.from('['.repeat(65_000)))).toMatchObject(tooDeep);
  for (const key of ['type', 'unknown', '__path'])
    expect(
      parseTrackBody(Buffer.from(`{"type":"track","payload":{"name":"a"},"${key}":${deep(34)}}`)),
    ).toMatchObject(tooDeep);
  const brackets = JSON.stringify({
    type: 'track',
    payload: { name: 'a', properties: { note: '[{'.repeat(500) } },
  });
  expect(parseTrackBody(Buffer.from(brackets))).toMatchObject({ kind: 'track' });
  const inBatch = parseBatchBody(Buffer.from(`[${deep(35)},{"type":"track","payload":{"name":"a"}}]`));
  expect(inBatch).toMatchObject({ bodies: [tooDeep, { kind: 'track' }] });
});

test('the last of two equal keys counts, also when one is dotted and the other nested', () => {
  expect(withProperties('{"a":1,"a":2}')).toMatchObject({ properties: ['a', '2'] });
  expect(withProperties('{"a.b":1,"a":{"b":2}}')).toMatchObject({ properties: ['a.b', '2'] });
});

test('keys named like inherited properties are data and change nothing', () => {
  const parsed = withProperties('{"__proto__":{"polluted":1},"constructor":"c","a":{"__proto__":2}}');
  expect(parsed).toMatchObject({
    properties: ['__proto__.polluted', '1', 'constructor', 'c', 'a.__proto__', '2'],
  });
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
});

test('a valid body is read completely', () => {
  const parsed = track(
    {
      name: 'screen_view',
      profileId: 12,
      groups: ['g'],
      eventId: 'e',
      properties: {
        __path: 'https://a.example/x',
        __referrer: 'https://r.example/?q=a',
        __title: 't',
        __language: 'l',
        __timezone: 'z',
        __screen: 'w',
        __timestamp: 1_700_000_000_000,
        __deviceId: 'd',
        __ip: '1.2.3.4',
        __userAgent: 'ua',
        __os: 'android',
        __osVersion: 14,
        __device: 'Phone',
        __model: null,
        __orderId: 5,
        list: [1, { x: true }, null],
      },
    },
    { clientId: 'c', clientSecret: 's', projectId: 'p', unknown: 1 },
  );
  expect(parsed).toStrictEqual({
    kind: 'track',
    clientId: 'c',
    clientSecret: 's',
    projectId: 'p',
    name: 'screen_view',
    profileId: '12',
    eventId: 'e',
    groups: ['g'],
    properties: ['list.0', '1', 'list.1.x', 'true'],
    revenue: undefined,
    path: 'https://a.example/x',
    referrer: 'https://r.example/?q=a',
    title: 't',
    language: 'l',
    timezone: 'z',
    screen: 'w',
    timestampMs: 1_700_000_000_000,
    deviceId: 'd',
    address: '1.2.3.4',
    userAgent: 'ua',
    software: { ...NO_SOFTWARE_CLAIM, os: 'Android', osVersion: '14', device: 'mobile' },
  });
});

describe('an eventId beside the type', () => {
  const named = (eventId: unknown, payload: object = {}) => track({ name: 'a', ...payload }, { eventId });

  test('is the same as one in the payload, for every type', () => {
    expect(named('e-1')).toStrictEqual(track({ name: 'a', eventId: 'e-1' }));
    const step = { profileId: 'p', property: 'logins' };
    expect(parse({ type: 'increment', payload: step, eventId: 'e-1' })).toStrictEqual(
      parse({ type: 'increment', payload: { ...step, eventId: 'e-1' } }),
    );
    expect(named(null)).toStrictEqual(track({ name: 'a' }));
  });

  test('counts only when the payload has none', () => {
    expect(named('e-1', { eventId: 'e-2' })).toMatchObject({ eventId: 'e-2' });
    expect(named('e-1', { eventId: null })).toMatchObject({ eventId: 'e-1' });
  });

  test.each([
    ['', 'eventId: expected 1 to 64 characters'],
    ['n'.repeat(65), 'eventId: expected at most 64 characters'],
    [7, 'eventId: expected a string'],
    ['\ud800', `eventId: ${BROKEN}`],
  ])('%j is rejected', (eventId, message) => {
    expect(named(eventId)).toMatchObject({ kind: 'reject', message });
    expect(named(eventId, { eventId: 'e-2' })).toMatchObject({ kind: 'reject', message });
  });
});

describe('a batch', () => {
  const event = (name: string) => ({ type: 'track', payload: { name } });
  const parseBatch = (value: unknown) => parseBatchBody(Buffer.from(JSON.stringify(value)));
  const bodiesOf = (value: unknown): readonly ParsedBody[] => {
    const batch = parseBatch(value);
    return batch.kind === 'batch' ? batch.bodies : [];
  };
  const LIMITS = 'body: expected an array of 1 to 2000 bodies';
  const TOO_LARGE = { kind: 'reject', reason: 'too-large', message: 'body: expected at most 65536 bytes' };
  /** A body of exactly this many bytes. */
  const sized = (bytes: number) => {
    const empty = { ...event('a'), note: '' };
    return { ...empty, note: 'n'.repeat(bytes - JSON.stringify(empty).length) };
  };

  test('is read body by body, and an invalid one does not fail the others', () => {
    const alias = { type: 'alias', payload: { profileId: 'p', alias: 'p' } };
    const step = { type: 'decrement', payload: { profileId: 1, property: 'seats', value: 2 } };
    expect(bodiesOf([event('a'), alias, null, [event('x')], event(''), step])).toMatchObject([
      { kind: 'track', name: 'a' },
      { reason: 'schema', message: 'payload.alias: expected an id other than payload.profileId' },
      { reason: 'schema', message: BODY },
      { reason: 'schema', message: BODY },
      { reason: 'schema', message: NAME.replace('rejected: ', '') },
      { kind: 'step', step: '-2' },
    ]);
  });

  test('with a lone surrogate in one body rejects that body alone', () => {
    expect(bodiesOf([event('\ud800'), event('b')])).toMatchObject([
      { message: `payload.name: ${BROKEN}` },
      { kind: 'track', name: 'b' },
    ]);
  });

  test.each([
    ['no body', []],
    ['an object', {}],
    ['a body alone', event('a')],
    ['null', null],
    ['a text', '[]'],
    ['2001 bodies', Array.from({ length: 2001 }, () => event('a'))],
  ])('of %s is rejected as a whole', (_name, value) => {
    expect(parseBatch(value)).toEqual({ kind: 'reject', reason: 'schema', message: LIMITS });
  });

  test('of 2000 bodies is read', () => {
    expect(bodiesOf(Array.from({ length: 2000 }, (_, index) => event(`e${index}`))).at(-1)).toMatchObject({
      name: 'e1999',
    });
  });

  test('that is invalid JSON or UTF-8 is rejected with its own reason', () => {
    expect(parseBatchBody(Buffer.from('[{},'))).toMatchObject({ reason: 'not-json' });
    expect(parseBatchBody(Buffer.from([0x5b, 0x22, 0xc3, 0x22, 0x5d]))).toMatchObject({ reason: 'not-utf8' });
  });

  test('may exceed the limit of one body, but none of its bodies may', () => {
    expect(
      bodiesOf([event('a'), sized(BODY_MAX_BYTES), sized(BODY_MAX_BYTES + 1), event('b')]),
    ).toMatchObject([
      { kind: 'track', name: 'a' },
      { kind: 'track', name: 'a' },
      TOO_LARGE,
      { kind: 'track', name: 'b' },
    ]);
    expect(bodiesOf([sized(BODY_MAX_BYTES + 1)])).toEqual([TOO_LARGE]);
  });

  test('measures bodies in bytes without the white space between them', () => {
    const wide = JSON.stringify({ ...event('a'), note: 'é'.repeat(BODY_MAX_BYTES / 2) });
    const batch = parseBatchBody(
      Buffer.from(`[${wide},${' '.repeat(BODY_MAX_BYTES)}${JSON.stringify(event('b'))}]`),
    );
    expect(batch).toMatchObject({ bodies: [TOO_LARGE, { kind: 'track', name: 'b' }] });
  });

  test('with a body nested a million levels deep is read, and that body rejected', () => {
    const depth = 1_000_000;
    const json = `[${'['.repeat(depth)}${']'.repeat(depth)},${JSON.stringify(event('b'))}]`;
    expect(parseBatchBody(Buffer.from(json))).toMatchObject({
      bodies: [TOO_LARGE, { kind: 'track', name: 'b' }],
    });
  });
});
