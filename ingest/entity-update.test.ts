import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { DecodeError } from '../infra/bus/decode-error.ts';
import { RowBinaryWriter } from '../infra/store/row-binary.ts';
import { expectOnlyDecodeErrors } from '../infra/testing/garbage.ts';
import { storedId } from '../infra/testing/ids.ts';
import {
  type Authority,
  aliasKeyOf,
  BY_SECRET,
  decodeAlias,
  decodeEntityUpdates,
  type EntityUpdate,
  encodeAlias,
  encodeEntityUpdate,
  type OrderUpdate,
} from './entity-update.ts';
import { beginMessage, decodeMessageHead, EVENT_VERSION, encodeEvent, endMessage } from './event.ts';
import { plainEvent } from './testing/events.ts';

const HEAD = { projectId: storedId('demo'), id: 'päul', atMs: 1_700_000_000_000, updateId: 'once' };

function eventBytes(): Uint8Array {
  const writer = new RowBinaryWriter(65_536);
  encodeEvent(writer, plainEvent({ name: 'revenue', revenue: 99n, currency: 'EUR' }));
  return writer.take();
}

const ORDER: OrderUpdate = {
  kind: 'order',
  ...HEAD,
  isRefund: false,
  amount: '',
  minorUnits: '99',
  currency: 'EUR',
  partition: 3,
  event: eventBytes(),
};
const authority: Authority = { kind: 'device', devices: ['today', 'yesterday'] };
const UPDATES: readonly EntityUpdate[] = [
  { kind: 'identify', ...HEAD, authority, firstName: 'Paul', properties: ['plan', 'pro'] },
  { kind: 'step', ...HEAD, authority, property: 'visits', step: '-1.5' },
  { kind: 'assign', ...HEAD, authority: { ...authority, kind: 'site' }, groups: ['acme'] },
  { kind: 'device', ...HEAD, authority: { kind: 'secret', devices: ['phone'] } },
  { kind: 'group', ...HEAD, authority: BY_SECRET, type: 'company', name: 'Acme', properties: [] },
  { kind: 'mention', ...HEAD },
  ORDER,
  { ...ORDER, isRefund: true, minorUnits: '', amount: '0.99', currency: '' },
  { kind: 'tally', ...HEAD, hourMs: 1_699_999_200_000, reason: 'bot', name: '', count: 7 },
];

function messageOf(updates: readonly unknown[]): Buffer {
  const writer = new RowBinaryWriter(1_048_576);
  beginMessage(writer, { publisherId: 42n, publisherSequence: 7, sentAtMs: 1_700_000_000_000 });
  for (const update of updates) encodeEntityUpdate(writer, update as EntityUpdate);
  endMessage(writer, updates.length);
  return writer.take();
}

const decode = (bytes: Uint8Array) => decodeEntityUpdates(bytes, decodeMessageHead(bytes).count);
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test('the bytes of updates change only with the version of messages', () => {
  expect([EVENT_VERSION, sha256(messageOf(UPDATES))]).toMatchInlineSnapshot(`
    [
      1,
      "9a3a88d01cfd7165da6cd14614bd968a9f6cf899ce78c8c3d40aa1aa019106d9",
    ]
  `);
});

test('updates are read as they were written', () => {
  expect(decode(messageOf(UPDATES))).toEqual(UPDATES);
});

test('whatever the bytes of a message are, its updates are read or rejected', () => {
  expectOnlyDecodeErrors(decode, messageOf(UPDATES));
});

test.each<[string, object]>([
  ['a kind of its own', { kind: 'nothing', ...HEAD }],
  ['no kind', HEAD],
  ['no authority', { kind: 'assign', ...HEAD, groups: ['acme'] }],
  ['a step that is no number', { kind: 'step', ...HEAD, property: 'visits', authority, step: 'one' }],
  ['a key without a value', { kind: 'group', ...HEAD, authority, type: '', name: '', properties: ['plan'] }],
  ['a number for a text', { kind: 'assign', ...HEAD, authority, groups: [7] }],
  ['a time that is none', { kind: 'assign', ...HEAD, authority, atMs: -1, groups: [] }],
  ['an authority of its own', { ...UPDATES[0], authority: { kind: 'king', devices: [] } }],
  ['minor units with a sign', { ...ORDER, minorUnits: '-5' }],
  ['an amount that is too large', { ...ORDER, minorUnits: '', amount: '99999999999999999' }],
  ['an amount that is no number', { ...ORDER, minorUnits: '', amount: '1e5' }],
  ['no currency', { ...ORDER, currency: 'a currency with a long name' }],
  ['an order without an event', { ...ORDER, event: new Uint8Array(0) }],
  ['an event that is cut off', { ...ORDER, event: ORDER.event.subarray(0, 20) }],
  ['a tally of an hour that no table can hold', { ...UPDATES.at(-1), hourMs: 1e16 }],
])('an update with %s is rejected', (_, update) => {
  expect(() => decode(messageOf([update]))).toThrow(DecodeError);
});

test('more updates than there are, and bytes that only orders have, are rejected', () => {
  const message = messageOf(UPDATES);
  expect(() => decodeEntityUpdates(message, UPDATES.length + 1)).toThrow('cut off');
  expect(() => decodeEntityUpdates(message, 0xffffffff)).toThrow(DecodeError);
  expect(() => decodeEntityUpdates(message, 1)).toThrow('bytes behind');
});

test('an alias is read as it was written, and nothing else is an alias', () => {
  const names = { projectId: storedId('demo'), alias: 'päul', profileId: 'paul' };
  const alias = { ...names, verified: true, createdAt: '2026-01-05T09:00:00.000Z' };
  expect(sha256(encodeAlias(alias))).toMatchInlineSnapshot(
    `"dbe7a865c9cb8541cff3f842e5295d39e828a64f66d6997272ebc8b8fbc1d7fb"`,
  );
  expect(decodeAlias(encodeAlias(alias))).toEqual(alias);
  for (const other of ['no JSON', '{}', JSON.stringify(alias), JSON.stringify({ ...alias, version: 2 })])
    expect(decodeAlias(Buffer.from(other))).toBeUndefined();
});

test('the key of an alias has only characters that a key may have', () => {
  expect(aliasKeyOf({ projectId: storedId('shop'), alias: 'anon/ü 1' })).toBe('c2hvcA.YW5vbi_DvCAx');
});
