import { expect, test } from 'vitest';
import { SeededRandom } from '../ingest/testing/random.ts';
import { byBytes } from './rank-order.ts';

const seed = Number(process.env.SEED ?? 20_261_124);

test('texts compare as their bytes in UTF-8 do, with characters on both sides of the surrogates', () => {
  const seeded = new SeededRandom(seed);
  const characters = [
    '',
    'a',
    'B',
    'é',
    '\u07ff',
    '\u0800',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '😀',
    '\u{10ffff}',
  ] as const;
  const text = () => Array.from({ length: 3 }, () => seeded.one([...characters])).join('');
  for (let round = 0; round < 5_000; round += 1) {
    const [one, other] = [text(), text()];
    const expected = Buffer.compare(Buffer.from(one), Buffer.from(other));
    expect(Math.sign(byBytes(one, other)), JSON.stringify([one, other])).toBe(expected);
  }
});
