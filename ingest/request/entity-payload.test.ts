import { describe, expect, test } from 'vitest';
import { deep, type FieldTexts, fieldOf, parseFields } from '../testing/field-cases.ts';
import { parseTrackBody } from './track-request.ts';

const REQUIRED: Readonly<Record<string, FieldTexts>> = {
  identify: { profileId: '"p"' },
  increment: { profileId: '"p"', property: '"logins"' },
  decrement: { profileId: '"p"', property: '"logins"' },
  group: { id: '"g"', type: '"company"', name: '"Acme"' },
  assign_group: { groupIds: '["g"]' },
  alias: { profileId: '"p"', alias: '"a"' },
};

const long = (length: number) => JSON.stringify('n'.repeat(length));
const texts = (count: number) => JSON.stringify(Array.from({ length: count }, () => 'g'));
const BROKEN = 'expected text without NUL or lone surrogates';

/** A required id: text or a number. */
function identity(field: string): [string, string | undefined, unknown][] {
  return [
    [field, '"u-1"', 'u-1'],
    [field, '7', '7'],
    [field, '-0', '0'],
    [field, '12.50', '12.5'],
    [field, '"12.50"', '12.50'],
    [field, '"__proto__"', '__proto__'],
    [field, long(256), 'n'.repeat(256)],
    [field, long(257), `rejected: payload.${field}: expected at most 256 characters`],
    [field, '""', `rejected: payload.${field}: expected 1 to 256 characters`],
    [field, undefined, `rejected: payload.${field}: expected a string or a number`],
    [field, 'null', `rejected: payload.${field}: expected a string or a number`],
    [field, 'true', `rejected: payload.${field}: expected a string or a number`],
    [field, '{}', `rejected: payload.${field}: expected a string or a number`],
    [field, '["p"]', `rejected: payload.${field}: expected a string or a number`],
    [field, deep(32), `rejected: payload.${field}: expected a string or a number`],
    [field, '1e999', `rejected: payload.${field}: expected a finite number`],
    [field, '"\\ud800"', `rejected: payload.${field}: ${BROKEN}`],
    [field, '"a\\u0000"', `rejected: payload.${field}: ${BROKEN}`],
  ];
}

/** An optional text; undefined when absent. */
function optionalText(field: string, max: number): [string, string | undefined, unknown][] {
  return [
    [field, '"Ada"', 'Ada'],
    [field, '""', ''],
    [field, undefined, undefined],
    [field, 'null', undefined],
    [field, long(max), 'n'.repeat(max)],
    [field, long(max + 1), `rejected: payload.${field}: expected at most ${max} characters`],
    [field, '7', `rejected: payload.${field}: expected a string`],
    [field, 'false', `rejected: payload.${field}: expected a string`],
    [field, '{"toString":1}', `rejected: payload.${field}: expected a string`],
    [field, '"\\udc00\\ud83d"', `rejected: payload.${field}: ${BROKEN}`],
    [field, '"\\ud83d\\ude00"', '😀'],
  ];
}

/** A required text. */
function requiredText(field: string, max: number): [string, string | undefined, unknown][] {
  const required = `rejected: payload.${field}: expected a non-empty string of at most ${max} characters`;
  return [
    [field, '"größe.eu"', 'größe.eu'],
    [field, long(max), 'n'.repeat(max)],
    [field, long(max + 1), `rejected: payload.${field}: expected at most ${max} characters`],
    [field, '""', required],
    [field, undefined, required],
    [field, 'null', required],
    [field, '7', required],
    [field, '[]', required],
    [field, '"\\u0000"', `rejected: payload.${field}: ${BROKEN}`],
  ];
}

const EVENT_ID: [string, string | undefined, unknown][] = [
  ['eventId', '"e-1"', 'e-1'],
  ['eventId', undefined, ''],
  ['eventId', 'null', ''],
  ['eventId', long(64), 'n'.repeat(64)],
  ['eventId', long(65), 'rejected: payload.eventId: expected at most 64 characters'],
  ['eventId', '""', 'rejected: payload.eventId: expected 1 to 64 characters'],
  ['eventId', '5', 'rejected: payload.eventId: expected a string'],
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
  ['properties', '[]', 'rejected: payload.properties: expected an object'],
  ['properties', '"a=1"', 'rejected: payload.properties: expected an object'],
  ['properties', deep(100), 'rejected: body: expected at most 32 levels below payload'],
  ['properties', '{"a":1e999}', 'rejected: payload.properties.a: expected a finite number'],
  ['properties', `{"a":${long(4097)}}`, 'rejected: payload.properties.a: expected at most 4096 bytes'],
  ['properties', '{"__deviceId":7}', 'rejected: payload.properties.__deviceId: expected a string'],
];

const STEP = 'rejected: payload.value: expected a number greater than 0';
const STEP_LONG = 'rejected: payload.value: expected a number of at most 40 characters without an exponent';
const VALUES: readonly [json: string | undefined, size: string | undefined, rejected: string | undefined][] =
  [
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
  VALUES.map(([json, size, rejected]): [string, string | undefined, unknown] => [
    'value',
    json,
    rejected ?? `${sign}${size}`,
  ]);

const GROUP_IDS = 'rejected: payload.groupIds: expected an array of 1 to 256 strings';

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
  increment: [...identity('profileId'), ...requiredText('property', 200), ...steps(''), ...EVENT_ID],
  decrement: [...identity('profileId'), ...requiredText('property', 200), ...steps('-'), ...EVENT_ID],
  group: [
    ...identity('id'),
    ...requiredText('type', 256),
    ...requiredText('name', 256),
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
    ['groupIds', '["a","b","c",4]', 'rejected: payload.groupIds.3: expected a string'],
    ['groupIds', '["a",null]', 'rejected: payload.groupIds.1: expected a string'],
    ['groupIds', '["a",""]', 'rejected: payload.groupIds.1: expected 1 to 256 characters'],
    ['groupIds', `["a",${long(257)}]`, 'rejected: payload.groupIds.1: expected at most 256 characters'],
    ['groupIds', '["a","\\ud800"]', `rejected: payload.groupIds.1: ${BROKEN}`],
    ['profileId', '"p"', 'p'],
    ['profileId', '9', '9'],
    ['profileId', undefined, ''],
    ['profileId', 'null', ''],
    ['profileId', '""', ''],
    ['profileId', '[]', 'rejected: payload.profileId: expected a string or a number'],
    ['profileId', '1e999', 'rejected: payload.profileId: expected a finite number'],
    ...EVENT_ID,
  ],
  alias: [
    ...identity('profileId'),
    ...identity('alias'),
    ['alias', '"p"', 'rejected: payload.alias: expected an id other than payload.profileId'],
    ...EVENT_ID,
  ],
};

describe.each(Object.keys(CASES))('%s', (type) => {
  test.each(CASES[type] ?? [])('%s: %s', (field, json, expected) => {
    const body = parseFields(type, { ...REQUIRED[type], [field]: json });
    expect(fieldOf(body, field === 'value' ? 'step' : field)).toEqual(expected);
  });
});

test('an alias that equals its profile as text is rejected', () => {
  const body = parseFields('alias', { profileId: '7', alias: '"7"' });
  expect(fieldOf(body, 'alias')).toBe('rejected: payload.alias: expected an id other than payload.profileId');
});

test.each(['identify', 'group'])('%s names the visitor in its properties', (type) => {
  const body = parseFields(type, {
    ...REQUIRED[type],
    properties: '{"__deviceId":"d","__ip":"203.0.113.7","a":1}',
  });
  expect(body).toMatchObject({ deviceId: 'd', address: '203.0.113.7', properties: ['a', '1'] });
});

test.each(['increment', 'decrement', 'assign_group', 'alias'])(
  '%s names no visitor, because it has no properties',
  (type) => {
    const body = parseFields(type, {
      ...REQUIRED[type],
      properties: '{"__deviceId":"d","__ip":"203.0.113.7"}',
    });
    expect(body).toMatchObject({ deviceId: '', address: '' });
  },
);

test.each(Object.keys(REQUIRED))('%s keeps who says that it sends it, and ignores unknown keys', (type) => {
  const payload = Object.fromEntries(
    Object.entries(REQUIRED[type] ?? {}).map(([name, json]) => [name, JSON.parse(json ?? 'null')]),
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
