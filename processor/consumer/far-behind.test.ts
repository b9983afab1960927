import { expect, test } from 'vitest';
import { START_MS } from '../../ingest/testing/events.ts';
import { isFarBehind } from './far-behind.ts';
import { tickMessage } from './tick.ts';

const NOW_MS = START_MS;
const sent = (sentAtMs: number) => tickMessage({ publisherId: 1n, publisherSequence: 1, sentAtMs });

test('a consumer is far behind while old messages wait and it does nothing but apply', () => {
  expect(isFarBehind(sent(NOW_MS - 5_001), 1_000, NOW_MS)).toBe(true);
  expect(isFarBehind(sent(NOW_MS - 5_000), 1_000, NOW_MS)).toBe(false);
  expect(isFarBehind(sent(NOW_MS - 60_000), 999, NOW_MS)).toBe(false);
  expect(isFarBehind(undefined, 60_000, NOW_MS)).toBe(false);
});

test('a message that was sent at no time, or cannot be read, says nothing', () => {
  expect(isFarBehind(sent(0), 60_000, NOW_MS)).toBe(false);
  expect(isFarBehind(Buffer.from('no message'), 60_000, NOW_MS)).toBe(false);
});
