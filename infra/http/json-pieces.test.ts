import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { HeaderList } from './headers.ts';
import { jsonPieces, replyJson, WHOLE_CHARS_MAX } from './json-pieces.ts';

/** Keeps all answers, like a peer that takes everything immediately. */
class Taken {
  text = '';
  readonly pieces: number[] = [];
  headers: HeaderList = [];

  json(_status: number, text: string, headers: HeaderList = [], more: HeaderList = []): void {
    this.text = text;
    this.headers = [...headers, ...more];
  }

  async stream(_status: number, headers: HeaderList, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const all: Uint8Array[] = [];
    for await (const chunk of chunks) all.push(chunk);
    this.pieces.push(...all.map(({ length }) => length));
    this.text = Buffer.concat(all).toString();
    this.headers = headers;
  }
}

const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.boolean(),
    fc.constantFrom(null, undefined, new Date(0), () => 1, Symbol('s')),
    fc.array(tie('value'), { maxLength: 6 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'toJSON', 'length')), tie('value')),
  ),
})).value;

test('the pieces of an answer together are its JSON', () => {
  fc.assert(
    fc.property(anything, (value) => {
      expect([...jsonPieces(value)].join('')).toBe(JSON.stringify(value) ?? 'null');
    }),
    { numRuns: 1_000 },
  );
});

test('a short answer is sent as a whole', async () => {
  const taken = new Taken();
  await replyJson(taken, { data: [1, 2] }, [['a', '1']], () => [['b', '2']]);
  expect(taken).toMatchObject({
    text: '{"data":[1,2]}',
    pieces: [],
    headers: [
      ['a', '1'],
      ['b', '2'],
    ],
  });
});

test('a long answer comes in pieces of the length of a row, however many rows it has', async () => {
  const row = { text: 'é'.repeat(10_000), properties: { plan: 'pro' } };
  for (const value of [Array.from({ length: 200 }, () => row), { meta: {}, data: Array(200).fill(row) }]) {
    const taken = new Taken();
    await replyJson(taken, value, [], () => undefined);
    expect(taken.text).toBe(JSON.stringify(value));
    expect(taken.headers).toEqual([['content-type', 'application/json; charset=utf-8']]);
    expect(Math.max(...taken.pieces)).toBeLessThan(2 * (WHOLE_CHARS_MAX + 20_000));
  }
});

test('the event loop runs while a long answer is encoded', async () => {
  // Each row takes longer than a turn.
  const slow = {
    toJSON: () => {
      const endMs = performance.now() + 6;
      while (performance.now() < endMs);
      return 'a'.repeat(WHOLE_CHARS_MAX);
    },
  };
  let rounds = 0;
  let next = setImmediate(function count() {
    rounds += 1;
    next = setImmediate(count);
  });
  await replyJson(new Taken(), Array(10).fill(slow), [], () => undefined);
  clearImmediate(next);
  expect(rounds).toBeGreaterThanOrEqual(8);
});
