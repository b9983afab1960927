import { describe, expect, test } from 'vitest';
import { deep, parseFields } from '../testing/field-cases.ts';

const NOTHING = { isRefund: false, amount: '', minorUnits: '', currency: '', orderId: '' };
const AMOUNT =
  'payload.properties.__amount: expected a number of at least 0, as a number or a string of at most 40 characters';
const LARGE = 'payload.properties.__amount: expected at most 9007199254740991 minor units';
const NO_AMOUNT = 'payload.properties.__amount: expected an amount, here or in minor units as __revenue';
const MINOR =
  'payload.properties.__revenue: expected a whole number of minor units, from 0 to 9007199254740991';
const CURRENCY = 'payload.properties.__currency: expected an ISO 4217 currency code';
const REFUND = 'payload.properties.__refund: expected true or false';
const NO_ORDER = 'payload.properties.__orderId: expected the id of the refunded order';

function revenueOf(properties: string | undefined) {
  return parseFields('track', { name: '"revenue"', properties });
}

test.each([
  ['"__amount":19.99', { amount: '19.99' }],
  ['"__amount":"19.99"', { amount: '19.99' }],
  ['"__amount":"0019.90"', { amount: '0019.90' }],
  ['"__amount":0', { amount: '0' }],
  ['"__amount":-0', { amount: '0' }],
  ['"__amount":1e-7', { amount: '0.0000001' }],
  ['"__amount":0.30000000000000004,"__currency":"USD"', { amount: '0.30000000000000004', currency: 'USD' }],
  ['"__amount":90071992547409.91,"__currency":"USD"', { amount: '90071992547409.9', currency: 'USD' }],
  ['"__amount":"90071992547409.91","__currency":"USD"', { amount: '90071992547409.91', currency: 'USD' }],
  ['"__amount":9007199254740991,"__currency":"JPY"', { amount: '9007199254740991', currency: 'JPY' }],
  ['"__amount":"900719925474.0991"', { amount: '900719925474.0991' }],
  ['"__amount":1,"__revenue":null', { amount: '1' }],
  ['"__amount":1,"__amount":2', { amount: '2' }],
  ['"__amount":"x","__amount":2', { amount: '2' }],
  ['"__revenue":1999', { minorUnits: '1999' }],
  ['"__revenue":0', { minorUnits: '0' }],
  ['"__revenue":-0', { minorUnits: '0' }],
  ['"__revenue":1e3', { minorUnits: '1000' }],
  ['"__revenue":9007199254740991', { minorUnits: '9007199254740991' }],
  ['"__amount":1,"__currency":"eUr"', { amount: '1', currency: 'EUR' }],
  ['"__amount":1,"__currency":null', { amount: '1' }],
  ['"__amount":1,"__orderId":"o-1"', { amount: '1', orderId: 'o-1' }],
  ['"__amount":1,"__orderId":1001', { amount: '1', orderId: '1001' }],
  ['"__amount":1,"__orderId":"__proto__"', { amount: '1', orderId: '__proto__' }],
  ['"__amount":1,"__refund":false', { amount: '1' }],
  ['"__amount":1,"__refund":null', { amount: '1' }],
  ['"__refund":true,"__orderId":"o"', { isRefund: true, orderId: 'o' }],
  ['"__refund":true,"__orderId":"o","__amount":5', { isRefund: true, orderId: 'o', amount: '5' }],
  ['"__refund":true,"__orderId":7,"__revenue":500', { isRefund: true, orderId: '7', minorUnits: '500' }],
])('{%s} is accepted', (members, claim) => {
  expect(revenueOf(`{${members}}`)).toMatchObject({ kind: 'track', revenue: { ...NOTHING, ...claim } });
});

test.each([
  ['"__amount":-1', AMOUNT],
  ['"__amount":1e999', AMOUNT],
  ['"__amount":-1e999', AMOUNT],
  ['"__amount":5e-324', AMOUNT],
  ['"__amount":""', AMOUNT],
  ['"__amount":"1e3"', AMOUNT],
  ['"__amount":"-1"', AMOUNT],
  ['"__amount":"+1"', AMOUNT],
  ['"__amount":".5"', AMOUNT],
  ['"__amount":"5."', AMOUNT],
  ['"__amount":"1,5"', AMOUNT],
  ['"__amount":" 1"', AMOUNT],
  ['"__amount":"1\\n"', AMOUNT],
  ['"__amount":"0x10"', AMOUNT],
  ['"__amount":"NaN"', AMOUNT],
  ['"__amount":"٣"', AMOUNT],
  [`"__amount":"${'0'.repeat(41)}"`, AMOUNT],
  ['"__amount":true', AMOUNT],
  ['"__amount":[1]', AMOUNT],
  [`"__amount":${deep(31)}`, AMOUNT],
  ['"__amount":1e21', LARGE],
  ['"__amount":"90071992547409.92","__currency":"USD"', LARGE],
  ['"__amount":9007199254740992,"__currency":"JPY"', LARGE],
  ['"__amount":"9007199254740.992","__currency":"KWD"', LARGE],
  ['"__amount":"900719925474.0992"', LARGE],
  ['"__refund":true,"__orderId":"o","__amount":1e15', LARGE],
  ['"__revenue":1.5', MINOR],
  ['"__revenue":-1', MINOR],
  ['"__revenue":"1999"', MINOR],
  ['"__revenue":9007199254740992', MINOR],
  ['"__revenue":1e999', MINOR],
  ['"__revenue":false', MINOR],
  [
    '"__amount":1,"__revenue":100',
    'payload.properties.__revenue: expected only one of __amount and __revenue',
  ],
  ['"__amount":1,"__currency":"XXX"', CURRENCY],
  ['"__amount":1,"__currency":"EURO"', CURRENCY],
  ['"__amount":1,"__currency":""', CURRENCY],
  ['"__amount":1,"__currency":"u\u017fd"', CURRENCY],
  ['"__amount":1,"__currency":978', CURRENCY],
  ['"__amount":1,"__currency":"EUR\\n"', CURRENCY],
  ['"__amount":1,"__refund":"true"', REFUND],
  ['"__amount":1,"__refund":1', REFUND],
  ['"__amount":1,"__refund":0', REFUND],
  ['"__refund":true', NO_ORDER],
  ['"__refund":true,"__amount":5', NO_ORDER],
  ['"__refund":true,"__orderId":null', NO_ORDER],
  ['"__refund":true,"__orderId":""', 'payload.properties.__orderId: expected 1 to 256 characters'],
  ['"__amount":1,"__orderId":{}', 'payload.properties.__orderId: expected a string or a number'],
  ['"__amount":1,"__orderId":1e999', 'payload.properties.__orderId: expected a finite number'],
  [
    `"__amount":1,"__orderId":"${'n'.repeat(257)}"`,
    'payload.properties.__orderId: expected at most 256 characters',
  ],
  ['"note":"no money"', NO_AMOUNT],
  ['"__orderId":"o","__refund":false', NO_AMOUNT],
  ['"__amount":null,"__revenue":null', NO_AMOUNT],
  ['"__proto__":{"__amount":1}', NO_AMOUNT],
])('{%s} is rejected', (members, message) => {
  expect(revenueOf(`{${members}}`)).toEqual({ kind: 'reject', reason: 'schema', message });
});

test.each([undefined, 'null', '{}'])(
  'an event named revenue with properties %s is rejected for its missing amount',
  (properties) => {
    expect(revenueOf(properties)).toMatchObject({ kind: 'reject', message: NO_AMOUNT });
  },
);

test('the reserved properties of revenue are not stored, the other properties are', () => {
  const body = revenueOf('{"__amount":1,"__currency":"EUR","__orderId":"o","plan":"pro","__deviceId":"d"}');
  expect(body).toMatchObject({ properties: ['plan', 'pro'], deviceId: 'd' });
});

describe.each(['purchase', 'screen_view', 'Revenue'])('on an event named %j', (name) => {
  const readNamed = (members: string) =>
    parseFields('track', { name: JSON.stringify(name), properties: `{${members}}` });

  test.each([
    ['"__amount":19.99,"__currency":"eur","__orderId":7', { amount: '19.99', currency: 'EUR', orderId: '7' }],
    ['"__revenue":1999', { minorUnits: '1999' }],
    ['"__refund":true,"__orderId":"o"', { isRefund: true, orderId: 'o' }],
    ['"__amount":0,"__refund":false', { amount: '0' }],
  ])('{%s} is money, as on one named revenue', (members, claim) => {
    expect(readNamed(`${members},"a":1`)).toMatchObject({
      kind: 'track',
      name,
      revenue: { ...NOTHING, ...claim },
      properties: ['a', '1'],
    });
  });

  test.each([
    ['"__amount":-1', AMOUNT],
    ['"__amount":"x"', AMOUNT],
    ['"__revenue":"x"', MINOR],
    ['"__revenue":1.5', MINOR],
    ['"__refund":"yes"', REFUND],
    ['"__refund":true', NO_ORDER],
    ['"__amount":1,"__currency":7', CURRENCY],
    [
      '"__amount":1,"__revenue":100',
      'payload.properties.__revenue: expected only one of __amount and __revenue',
    ],
  ])('{%s} is rejected, as on one named revenue', (members, message) => {
    expect(readNamed(members)).toEqual({ kind: 'reject', reason: 'schema', message });
  });

  test.each([
    '',
    '"__amount":null',
    '"__refund":false',
    '"__revenue":null,"__orderId":"o","__currency":"EUR"',
  ])('{%s} claims no money', (members) => {
    expect(readNamed(members)).toMatchObject({ kind: 'track', revenue: undefined, properties: [] });
  });
});
