import { describe, expect, test } from 'vitest';
import { deep, type FieldTexts, fieldOf, parseFields } from '../testing/field-cases.ts';
import { parseTrackBody } from './track-request.ts';

const NEEDED: Readonly<Record<string, FieldTexts>> = {
  identify: { profileId: '"p"' },
  increment: { profileId: '"p"', property: '"logins"' },
  decrement: { profileId: '"p"', property: '"logins"' },
  group: { id: '"g"', type: '"company"', name: '"Acme"' },
  assign_group: { groupIds: '["g"]' },
  alias: { profileId: '"p"', alias: '"a"' },
};

const long = (length: number) => JSON.stringify('n'.repeat(length));
const texts = (count: number) => JSON.stringify(Array.from({ length: count }, () => 'g'));
const BROKEN = 'expected text without NUL and lone surrogates';
const DEEP = `${'.d'.repeat(32)}: expected at most 32 levels`.slice(1);

/** An id that must be there: a text or a number. */
function identity(field: string): [string, string | undefined, unknown][] {
  return [
    [field, '"u-1"', 'u-1'],
    [field, '7', '7'],
    [field, '-0', '0'],
    [field, '12.50', '12.5'],
    [field, '"12.50"', '12.50'],
    [field, '"__proto__"', '__proto__'],
    [field, long(256), 'n'.repeat(256)],
    [field, long(257), `refused: payload.${field}: expected at most 256 characters`],
    [field, '""', `refused: payload.${field}: expected 1 to 256 characters`],
    [field, undefined, `refused: payload.${field}: expected a string or a number`],
    [field, 'null', `refused: payload.${field}: expected a string or a number`],
    [field, 'true', `refused: payload.${field}: expected a string or a number`],
    [field, '{}', `refused: payload.${field}: expected a string or a number`],
    [field, '["p"]', `refused: payload.${field}: expected a string or a number`],
    [field, deep(100), `refused: payload.${field}: expected a string or a number`],
    [field, '1e999', `refused: payload.${field}: expected a finite number`],
    [field, '"\\ud800"', `refused: payload.${field}: ${BROKEN}`],
    [field, '"a\\u0000"', `refused: payload.${field}: ${BROKEN}`],
  ];
}

/** A text that is left alone where it is not given. */
function optionalText(field: string, max: number): [string, string | undefined, unknown][] {
  return [
    [field, '"Ada"', 'Ada'],
    [field, '""', ''],
    [field, undefined, undefined],
    [field, 'null', undefined],
    [field, long(max), 'n'.repeat(max)],
    [field, long(max + 1), `refused: payload.${field}: expected at most ${max} characters`],
    [field, '7', `refused: payload.${field}: expected a string`],
    [field, 'false', `refused: payload.${field}: expected a string`],
    [field, '{"toString":1}', `refused: payload.${field}: expected a string`],
    [field, '"\\udc00\\ud83d"', `refused: payload.${field}: ${BROKEN}`],
    [field, '"\\ud83d\\ude00"', '😀'],
  ];
}

/** A text that must be there. */
function neededText(field: string, max: number): [string, string | undefined, unknown][] {
  const needed = `refused: payload.${field}: expected a non-empty string of at most ${max} characters`;
  return [
    [field, '"größe.eu"', 'größe.eu'],
    [field, long(max), 'n'.repeat(max)],
    [field, long(max + 1), `refused: payload.${field}: expected at most ${max} characters`],
    [field, '""', needed],
    [field, undefined, needed],
    [field, 'null', needed],
    [field, '7', needed],
    [field, '[]', needed],
    [field, '"\\u0000"', `refused: payload.${field}: ${BROKEN}`],
  ];
}

const EVENT_ID: [string, string | undefined, unknown][] = [
  ['eventId', '"e-1"', 'e-1'],
  ['eventId', undefined, ''],
  ['eventId', 'null', ''],
  ['eventId', long(64), 'n'.repeat(64)],
  ['eventId', long(65), 'refused: payload.eventId: expected at most 64 characters'],
  ['eventId', '""', 'refused: payload.eventId: expected 1 to 64 characters'],
  ['eventId', '5', 'refused: payload.eventId: expected a string'],
];

const PROPERTIES: [string, string | undefined, unknown][] = [
  ['properties', undefined, []],
  ['properties', 'null', []],
  ['properties', '{}', []],
  [
    'properties',
    '{"plan":"pro","seats":3,"a":{"b":[true,null]}}',
    ['plan', 'pro', 'seats', '3', 'a.b.0', 'true'],
  ],
  ['properties', '{"__path":"/x","__revenue":"much","__amount":-1,"x":1}', ['x', '1']],
  [
    'properties',
    '{"__proto__":{"polluted":1},"constructor":2}',
    ['__proto__.polluted', '1', 'constructor', '2'],
  ],
  ['properties', '{"a":1,"a":2}', ['a', '2']],
  ['properties', '[]', 'refused: payload.properties: expected an object'],
  ['properties', '"a=1"', 'refused: payload.properties: expected an object'],
  ['properties', deep(100), `refused: payload.properties.${DEEP}`],
  ['properties', '{"a":1e999}', 'refused: payload.properties.a: expected a finite number'],
  ['properties', `{"a":${long(4097)}}`, 'refused: payload.properties.a: expected at most 4096 bytes'],
  ['properties', '{"__deviceId":7}', 'refused: payload.properties.__deviceId: expected a string'],
];

const STEP = 'refused: payload.value: expected a number above 0';
const STEP_LONG = 'refused: payload.value: expected a number of at most 40 characters without an exponent';
const VALUES: readonly [json: string | undefined, size: string | undefined, refused: string | undefined][] = [
  [undefined, '1', undefined],
  ['null', '1', undefined],
  ['1', '1', undefined],
  ['2.50', '2.5', undefined],
  ['0.1', '0.1', undefined],
  ['1e-7', '0.0000001', undefined],
  ['1e21', '1000000000000000000000', undefined],
  ['1e39', `1${'0'.repeat(39)}`, undefined],
  ['1e40', undefined, STEP_LONG],
  ['5e-324', undefined, STEP_LONG],
  ['0', undefined, STEP],
  ['-0', undefined, STEP],
  ['-1', undefined, STEP],
  ['1e999', undefined, STEP],
  ['"5"', undefined, STEP],
  ['""', undefined, STEP],
  ['true', undefined, STEP],
  ['[1]', undefined, STEP],
  ['{}', undefined, STEP],
];
const steps = (sign: string) =>
  VALUES.map(([json, size, refused]): [string, string | undefined, unknown] => [
    'value',
    json,
    refused ?? `${sign}${size}`,
  ]);

const GROUP_IDS = 'refused: payload.groupIds: expected an array of 1 to 256 strings';

const CASES: Readonly<Record<string, [field: string, json: string | undefined, expected: unknown][]>> = {
  identify: [
    ...identity('profileId'),
    ...optionalText('firstName', 256),
    ...optionalText('lastName', 256),
    ...optionalText('email', 256),
    ...optionalText('avatar', 2048),
    ...PROPERTIES,
    ...EVENT_ID,
  ],
  increment: [...identity('profileId'), ...neededText('property', 200), ...steps(''), ...EVENT_ID],
  decrement: [...identity('profileId'), ...neededText('property', 200), ...steps('-'), ...EVENT_ID],
  group: [
    ...identity('id'),
    ...neededText('type', 256),
    ...neededText('name', 256),
    ...PROPERTIES,
    ...EVENT_ID,
  ],
  assign_group: [
    ['groupIds', '["a","b","a"]', ['a', 'b', 'a']],
    ['groupIds', texts(256), JSON.parse(texts(256))],
    ['groupIds', texts(257), GROUP_IDS],
    ['groupIds', '[]', GROUP_IDS],
    ['groupIds', undefined, GROUP_IDS],
    ['groupIds', 'null', GROUP_IDS],
    ['groupIds', '"g"', GROUP_IDS],
    ['groupIds', '{"0":"g","length":1}', GROUP_IDS],
    ['groupIds', '["a","b","c",4]', 'refused: payload.groupIds.3: expected a string'],
    ['groupIds', '["a",null]', 'refused: payload.groupIds.1: expected a string'],
    ['groupIds', '["a",""]', 'refused: payload.groupIds.1: expected 1 to 256 characters'],
    ['groupIds', `["a",${long(257)}]`, 'refused: payload.groupIds.1: expected at most 256 characters'],
    ['groupIds', '["a","\\ud800"]', `refused: payload.groupIds.1: ${BROKEN}`],
    ['profileId', '"p"', 'p'],
    ['profileId', '9', '9'],
    ['profileId', undefined, ''],
    ['profileId', 'null', ''],
    ['profileId', '""', ''],
    ['profileId', '[]', 'refused: payload.profileId: expected a string or a number'],
    ['profileId', '1e999', 'refused: payload.profileId: expected a finite number'],
    ...EVENT_ID,
  ],
  alias: [
    ...identity('profileId'),
    ...identity('alias'),
    ['alias', '"p"', 'refused: payload.alias: expected another id than payload.profileId'],
    ...EVENT_ID,
  ],
};

describe.each(Object.keys(CASES))('%s', (type) => {
  test.each(CASES[type] ?? [])('%s: %s', (field, json, expected) => {
    const body = parseFields(type, { ...NEEDED[type], [field]: json });
    expect(fieldOf(body, field === 'value' ? 'step' : field)).toEqual(expected);
  });
});

test('a profile and its alias that are equal as text are refused', () => {
  const body = parseFields('alias', { profileId: '7', alias: '"7"' });
  expect(fieldOf(body, 'alias')).toBe('refused: payload.alias: expected another id than payload.profileId');
});

test.each(['identify', 'group'])('%s says by its properties whose request it is', (type) => {
  const body = parseFields(type, {
    ...NEEDED[type],
    properties: '{"__deviceId":"d","__ip":"203.0.113.7","a":1}',
  });
  expect(body).toMatchObject({ deviceId: 'd', address: '203.0.113.7', properties: ['a', '1'] });
});

test.each(['increment', 'decrement', 'assign_group', 'alias'])(
  '%s has no properties to say it by',
  (type) => {
    const body = parseFields(type, {
      ...NEEDED[type],
      properties: '{"__deviceId":"d","__ip":"203.0.113.7"}',
    });
    expect(body).toMatchObject({ deviceId: '', address: '' });
  },
);

test.each(Object.keys(NEEDED))('%s keeps who says that it sends it, and ignores unknown keys', (type) => {
  const payload = Object.fromEntries(
    Object.entries(NEEDED[type] ?? {}).map(([name, json]) => [name, JSON.parse(json ?? 'null')]),
  );
  const sent = {
    type,
    payload: { ...payload, other: [1] },
    clientId: 'c',
    clientSecret: 's',
    projectId: 'p',
    x: {},
  };
  const body = parseTrackBody(Buffer.from(JSON.stringify(sent)));
  expect(body).toMatchObject({ clientId: 'c', clientSecret: 's', projectId: 'p' });
  expect(Object.keys(body)).not.toContain('other');
});
