import { expect, test } from 'vitest';
import { publisherKeyOf } from '../../infra/process/lane-ends.ts';
import { PublisherNumbers } from './publisher-numbers.ts';
import { tickMessage } from './tick.ts';

const ONE = 1n;
const OTHER = 2n;
const SPARSE = 3n;

const message = (publisherId: bigint, publisherSequence: number) => ({
  bytes: tickMessage({ publisherId, publisherSequence, sentAtMs: 0 }),
});

test.each([
  ['numbers that follow each other', [message(ONE, 1), message(OTHER, 1), message(ONE, 2)], 3],
  ['repeats', [message(ONE, 1), message(ONE, 2), message(ONE, 1), message(ONE, 2)], 4],
  ['a number that is missing', [message(ONE, 1), message(OTHER, 1), message(ONE, 3), message(ONE, 4)], 2],
  ['a publisher whose first messages are missing', [message(ONE, 1), message(OTHER, 2)], 1],
  ['a publisher that leaves numbers out', [message(ONE, 1), message(SPARSE, 1)], 1],
  ['a message that cannot be read', [message(ONE, 1), { bytes: Buffer.from('?') }, message(ONE, 2)], 3],
])('goes up to the first message in front of which another may be missing: %s', (_, messages, count) => {
  expect(new PublisherNumbers(10, (id) => id === SPARSE).noteNext(messages)).toBe(count);
});

test('goes on behind a message that was taken all the same, and behind what a checkpoint says', () => {
  const numbers = new PublisherNumbers(10);
  numbers.restore([[publisherKeyOf(ONE), 4, 0]]);
  expect(numbers.noteNext([message(ONE, 4), message(ONE, 5), message(ONE, 8)])).toBe(2);
  numbers.note(message(ONE, 8));
  expect(numbers.noteNext([message(ONE, 9)])).toBe(1);
  expect([message(ONE, 9), message(ONE, 10)].map(({ bytes }) => numbers.hasTaken(bytes))).toEqual([
    true,
    false,
  ]);
});

test('forgets the publisher that was silent longest', () => {
  const numbers = new PublisherNumbers(2);
  const first = [message(ONE, 1), message(OTHER, 1), message(ONE, 2), message(SPARSE, 1)];
  expect(numbers.noteNext(first)).toBe(4);
  expect(numbers.noteNext([message(ONE, 3), message(OTHER, 2)])).toBe(1);
});
