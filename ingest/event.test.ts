import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DecodeError } from '../infra/bus/decode-error.ts';
import { RowBinaryWriter } from '../infra/store/row-binary.ts';
import { storeShardOf, storeShardOfLane } from '../infra/store/shard-of.ts';
import { storedId } from '../infra/testing/ids.ts';
import {
  beginMessage,
  decodeMessageHead,
  type Environment,
  EVENT_COLUMNS,
  EVENT_VERSION,
  type Event,
  encodeEvent,
  endMessage,
  FLAG_CREDIT,
  laneOf,
  NO_ENVIRONMENT,
  SESSION_GAP_MS,
  sessionIdOf,
} from './event.ts';
import {
  decodeSessionAnswers,
  decodeSessionQuestions,
  encodeSessionAnswers,
  encodeSessionQuestions,
  SESSION_LOOKUP_VERSION,
} from './session-lookup.ts';
import { plainEvent } from './testing/events.ts';

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');

function sampleMessage(more: readonly Event[] = []): Buffer {
  const writer = new RowBinaryWriter(65_536);
  beginMessage(writer, { publisherId: 42n, publisherSequence: 7, sentAtMs: 1_700_000_000_000 });
  encodeEvent(
    writer,
    plainEvent({ profileId: 'päul', revenue: -5n, currency: 'EUR', groups: ['a'], properties: ['k', 'v'] }),
  );
  encodeEvent(writer, plainEvent({ name: 'click', sessionId: '', deviceId: '', eventId: 'once' }));
  for (const event of more) encodeEvent(writer, event);
  endMessage(writer, 2 + more.length);
  return writer.take();
}

test('the bytes of a message change only with its version', () => {
  const message = sampleMessage([
    plainEvent({ name: 'revenue', revenue: 99n, currency: 'EUR', credit: true }),
  ]);
  expect([EVENT_VERSION, sha256(message), sha256(EVENT_COLUMNS.join())]).toMatchInlineSnapshot(`
    [
      1,
      "396fad6a649dfb071a210a7f581ff76f21da9cd56ed59024962659d5916ae975",
      "85797868b3aab534f8cf942ecf42b1286e040cf80b1ad5f626be2e61490248fc",
    ]
  `);
});

test('the locale stands behind the rest of the environment', () => {
  const encoded = (environment: Environment) => {
    const writer = new RowBinaryWriter(65_536);
    encodeEvent(writer, plainEvent({ environment }));
    return writer.take().subarray(4);
  };
  const locale = { language: 'de-AT', timezone: 'Europe/Vienna', screen: '1920x1080' };
  const bytes = encoded({ ...NO_ENVIRONMENT, model: 'a model', ...locale });
  expect(bytes.toString('latin1')).toContain('\x07a model\x05de-AT\rEurope/Vienna\t1920x1080');
  expect(EVENT_COLUMNS.join()).toContain(',brand,model,language,timezone,screen,groups,');
});

test('credit is one flag of an event, and nothing else of it', () => {
  const encoded = (credit: boolean) => {
    const writer = new RowBinaryWriter(65_536);
    encodeEvent(writer, plainEvent({ credit }));
    return writer.take();
  };
  const bytes = encoded(true);
  expect((bytes[4] ?? 0) & FLAG_CREDIT).toBe(FLAG_CREDIT);
  bytes[4] = (bytes[4] ?? 0) & ~FLAG_CREDIT;
  expect(bytes).toEqual(encoded(false));
});

test('a head is read as it was written, and anything else is rejected', () => {
  const message = sampleMessage();
  expect(decodeMessageHead(message)).toEqual({
    version: EVENT_VERSION,
    publisherId: 42n,
    publisherSequence: 7,
    sentAtMs: 1_700_000_000_000,
    count: 2,
  });
  expect(() => decodeMessageHead(message.subarray(0, 10))).toThrow(DecodeError);
  message[0] = 0;
  expect(() => decodeMessageHead(message)).toThrow('version 0');
  message[0] = EVENT_VERSION + 1;
  expect(() => decodeMessageHead(message)).toThrow('version 2');
});

test.each([
  ['a number of its publisher', 9, [Number.NaN, 0, -1, 1.5, Number.POSITIVE_INFINITY, 2 ** 60]],
  ['a time', 17, [Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300]],
])('a head without %s is rejected: it would stay in the checkpoint', (_, offset, values) => {
  for (const value of values) {
    const message = sampleMessage();
    message.writeDoubleLE(value, offset);
    expect(() => decodeMessageHead(message)).toThrow(DecodeError);
  }
});

test('devices spread evenly over the lanes', () => {
  for (const lanes of [2, 8, 12, 64]) {
    const counts = new Array<number>(lanes).fill(0);
    for (let device = 0; device < 64_000; device += 1) {
      const lane = laneOf(storedId('demo'), randomBytes(16).toString('hex'), { lanes, storeShards: 1 });
      counts[lane] = (counts[lane] ?? 0) + 1;
    }
    const mean = 64_000 / lanes;
    // Six standard deviations of an even draw.
    for (const count of counts) expect(Math.abs(count - mean)).toBeLessThan(6 * Math.sqrt(mean));
  }
});

test('a lane has sites of one shard of the store, all lanes of a shard get devices, and growing moves none to another shard', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.string(),
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 4 }),
      (site, device, storeShards, lanesOfShard, times) => {
        const spread = { storeShards, lanes: storeShards * lanesOfShard };
        const lane = laneOf(storedId(site), device, spread);
        expect(lane).toBeLessThan(spread.lanes);
        expect(storeShardOfLane(lane, spread)).toBe(storeShardOf(storedId(site), spread));
        // Within a shard, devices spread over its lanes as in a service with one shard.
        expect((lane - storeShardOf(storedId(site), spread)) / storeShards).toBe(
          laneOf(storedId(site), device, { lanes: lanesOfShard, storeShards: 1 }),
        );
        // Growth divides a lane among its multiples.
        expect(
          laneOf(storedId(site), device, { storeShards, lanes: spread.lanes * times }) % spread.lanes,
        ).toBe(lane);
      },
    ),
  );
});

test('sessions of one device that begin or are opened more than a gap apart have different ids, on every node the same', () => {
  const time = fc.integer({ min: 0, max: 4_102_444_800_000 });
  const more = fc.integer({ min: 1, max: 10 * SESSION_GAP_MS });
  fc.assert(
    fc.property(time, time, more, (startMs, nowMs, moreMs) => {
      const id = sessionIdOf(storedId('demo'), 'device', startMs, nowMs);
      expect(id).toMatch(/^[0-9a-f]{32}$/);
      expect(sessionIdOf(storedId('demo'), 'device', startMs, nowMs)).toBe(id);
      expect(sessionIdOf(storedId('demo'), 'device', startMs + SESSION_GAP_MS + moreMs, nowMs)).not.toBe(id);
      expect(sessionIdOf(storedId('demo'), 'device', startMs, nowMs + SESSION_GAP_MS + moreMs)).not.toBe(id);
      expect(sessionIdOf(storedId('demo'), 'other', startMs, nowMs)).not.toBe(id);
      expect(sessionIdOf(storedId('shop'), 'device', startMs, nowMs)).not.toBe(id);
    }),
  );
});

// The second clock may be behind.
test.each([
  [0x12345, '0001234500000000', 'demo\ndevice\n74565\n0'],
  [0x12347, '0001234500000002', 'demo\ndevice\n74565\n2'],
  [0x12344, '00012345ffffffff', 'demo\ndevice\n74565\n-1'],
])(
  'the id of a session that is opened in slot %d begins with its slots and ends with a hash',
  (nowSlot, slots, hashed) => {
    const id = sessionIdOf(
      storedId('demo'),
      'device',
      0x12346 * SESSION_GAP_MS - 1,
      nowSlot * SESSION_GAP_MS,
    );
    expect(id).toBe(slots + sha256(hashed).slice(0, 16));
  },
);

test('look-ups are read as they were written', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 200 });
  const ms = fc.integer({ min: 0, max: 4_102_444_800_000 });
  const question = fc.record({
    projectId: text.map(storedId),
    deviceId: text,
    occurredAtMs: ms,
    eventId: text,
    credit: fc.boolean(),
  });
  const answer = fc.record({
    kind: fc.constantFrom('open' as const, 'granted' as const, 'repeat' as const, 'ended' as const),
    sessionId: fc.oneof(fc.constant(''), fc.constant('0123456789abcdef'.repeat(2))),
    firstMs: ms,
    lastMs: ms,
  });
  fc.assert(
    fc.property(fc.array(question), fc.array(answer), (questions, answers) => {
      expect(decodeSessionQuestions(encodeSessionQuestions(questions))).toEqual(questions);
      expect(decodeSessionAnswers(encodeSessionAnswers(answers))).toEqual(answers);
    }),
  );
  const bytes = encodeSessionQuestions([]);
  bytes[0] = SESSION_LOOKUP_VERSION + 1;
  expect(() => decodeSessionQuestions(bytes)).toThrow('version');
});
