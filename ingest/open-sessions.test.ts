import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expectOnlyDecodeErrors } from '../infra/testing/garbage.ts';
import { storedId } from '../infra/testing/ids.ts';
import { SESSION_GAP_MS } from './event.ts';
import {
  DeviceHash,
  decodeOpenSessionsChanges,
  decodeOpenSessionsPiece,
  decodeOpenSessionsQuestion,
  encodeOpenSessionsChanges,
  encodeOpenSessionsPiece,
  encodeOpenSessionsQuestion,
  encodeOpenSessionsUnavailable,
  entriesPerMessage,
  OPEN_SESSIONS_VERSION,
  type OpenSessionsEntries,
  OpenSessionsWriter,
  STANDING_DOUBTFUL,
  slotOf,
  slotOfStanding,
  standingOfSlot,
} from './open-sessions.ts';
import { oddText } from './testing/events.ts';

type ListedEntry = readonly [high: number, low: number, standing: number];

const HEAD = { incarnation: 2 ** 52 + 1, number: 7, markMs: 1_700_000_000_000, complete: true };
const SAMPLE: readonly ListedEntry[] = [
  [0, 0xffff_ffff, 1],
  [0xffff_ffff, 5, 65_001],
];

function entriesOf(list: readonly ListedEntry[]): OpenSessionsEntries {
  const writer = new OpenSessionsWriter(1);
  for (const [high, low, standing] of list) writer.add(high, low, standing);
  return writer.take();
}

function listOf(entries: OpenSessionsEntries): ListedEntry[] {
  const list: ListedEntry[] = [];
  entries.visit((...entry) => list.push(entry));
  return list;
}

const u32 = fc.nat(0xffff_ffff);
const lists = fc.array(fc.tuple(u32, u32, fc.nat(0xffff)), { maxLength: 50 });
const heads = fc.record({
  incarnation: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  number: fc.nat(Number.MAX_SAFE_INTEGER),
  markMs: fc.nat(2 ** 31),
  complete: fc.boolean(),
});

test('the bytes of changes, questions and pieces change only with the version', () => {
  const entries = entriesOf(SAMPLE);
  const all = Buffer.concat([
    encodeOpenSessionsChanges({ ...HEAD, entries }),
    encodeOpenSessionsPiece({ ...HEAD, entries, piece: 1, pieces: 3 }),
    encodeOpenSessionsQuestion({ incarnation: 1, number: 2, piece: 3 }),
    encodeOpenSessionsUnavailable(),
  ]);
  const hash = createHash('sha256').update(all).digest('hex');
  expect([OPEN_SESSIONS_VERSION, hash]).toMatchInlineSnapshot(`
    [
      1,
      "1cd556d1e93f2a85d37c6f4b80a04eda89642bd5a7cfa47e87518f586f734e7b",
    ]
  `);
});

test('what is read is what was written', () => {
  fc.assert(
    fc.property(heads, lists, fc.nat(9), (head, list, piece) => {
      const entries = entriesOf(list);
      const changes = decodeOpenSessionsChanges(encodeOpenSessionsChanges({ ...head, entries }));
      expect({ ...changes, entries: listOf(changes.entries) }).toEqual({ ...head, entries: list });
      const sent = { ...head, entries, piece, pieces: 10 };
      const read = decodeOpenSessionsPiece(encodeOpenSessionsPiece(sent));
      expect(read && { ...read, entries: listOf(read.entries) }).toEqual({ ...sent, entries: list });
      const question = { incarnation: head.incarnation, number: head.number, piece };
      expect(decodeOpenSessionsQuestion(encodeOpenSessionsQuestion(question))).toEqual(question);
    }),
  );
});

test('an owner that is unavailable sends no piece', () => {
  expect(decodeOpenSessionsPiece(encodeOpenSessionsUnavailable())).toBeUndefined();
});

describe('garbage is a DecodeError:', () => {
  const entries = entriesOf(SAMPLE);
  test.each([
    ['changes', decodeOpenSessionsChanges, encodeOpenSessionsChanges({ ...HEAD, entries })],
    ['a question', decodeOpenSessionsQuestion, encodeOpenSessionsQuestion({ ...HEAD, piece: 3 })],
  ])('%s', (_, decode, sample) => expectOnlyDecodeErrors(decode, sample));

  test('a piece', () => {
    const sample = encodeOpenSessionsPiece({ ...HEAD, entries, piece: 0, pieces: 1 });
    // Only the version says that the owner is unavailable.
    const decode = (bytes: Uint8Array) => decodeOpenSessionsPiece(bytes.length === 1 ? Buffer.of() : bytes);
    expectOnlyDecodeErrors(decode, sample);
  });
});

test('as many entries as are said to fit fill a message', () => {
  const count = entriesPerMessage(1_000);
  const entries = entriesOf(Array.from({ length: count }, (_, index): ListedEntry => [index, index, 1]));
  const { length } = encodeOpenSessionsPiece({ ...HEAD, entries, piece: 0, pieces: 1 });
  expect(length).toBeLessThanOrEqual(1_000);
  expect(length).toBeGreaterThan(980);
});

test('a slot is found again from its standing for years, and one slot ahead of a clock', () => {
  const sessions = fc.record({
    slot: fc.integer({ min: 1, max: 3_000_000 }),
    age: fc.integer({ min: -1, max: 60_000 }),
  });
  fc.assert(
    fc.property(sessions, ({ slot, age }) => {
      const standing = standingOfSlot(slot);
      expect(standing).toBeGreaterThan(STANDING_DOUBTFUL);
      expect(standing).toBeLessThan(65_536);
      expect(slotOfStanding(standing, (slot + age) * SESSION_GAP_MS)).toBe(slot);
      expect(slotOf(slot * SESSION_GAP_MS + SESSION_GAP_MS - 1)).toBe(slot);
    }),
  );
});

test('a device has one hash, from its texts and from their bytes', () => {
  const [one, other] = [new DeviceHash(), new DeviceHash()];
  const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
  fc.assert(
    fc.property(oddText, oddText, (site, device) => {
      expect(one.of(storedId(site), device)).toEqual(other.ofRuns(latin1(site), latin1(device)));
    }),
  );
  expect(new DeviceHash().of(storedId('demo'), 'abc')).toMatchInlineSnapshot(`
    DeviceHash {
      "high": 4202462650,
      "low": 4006492585,
    }
  `);
});

test('different devices have different hashes, which are spread evenly', () => {
  const hash = new DeviceHash();
  const count = 200_000;
  const seen = new Set<number>();
  const bins = new Uint32Array(256);
  for (let index = 0; index < count; index += 1) {
    hash.of(storedId(index % 2 === 0 ? 'demo' : 'demo2'), `device-${index >>> 1}`);
    seen.add((hash.high >>> 0) * 2 ** 21 + (hash.low >>> 11));
    bins[hash.high >>> 24] = (bins[hash.high >>> 24] ?? 0) + 1;
  }
  expect(seen.size).toBe(count);
  // 8 sigma around 781.
  expect([Math.min(...bins) > 557, Math.max(...bins) < 1_005]).toEqual([true, true]);
  expect(new DeviceHash().of(storedId('a'), 'bc')).not.toEqual(new DeviceHash().of(storedId('ab'), 'c'));
});
