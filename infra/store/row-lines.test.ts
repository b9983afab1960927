import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseRowLines, readRowLines } from './row-lines.ts';

async function* cutInto(bytes: Buffer, lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const length of lengths) {
    yield bytes.subarray(from, from + length);
    from += length;
  }
  yield bytes.subarray(from);
}

test('rows are the same wherever pieces end', async () => {
  const rows = fc.array(fc.record({ a: fc.string({ unit: 'binary' }), b: fc.integer() }));
  const law = fc.asyncProperty(rows, fc.array(fc.nat(30)), fc.boolean(), async (expected, cuts, isEnded) => {
    const text = expected.map((row) => JSON.stringify(row)).join('\n') + (isEnded ? '\n' : '');
    expect(await readRowLines(cutInto(Buffer.from(text), cuts))).toEqual(expected);
    expect(await parseRowLines(text)).toEqual(expected);
  });
  await fc.assert(law, { numRuns: 50 });
});

test('nothing is read behind the last row that is wanted', async () => {
  let given = 0;
  let isOver = false;
  async function* endless() {
    try {
      for (;;) {
        given += 1;
        yield Buffer.from(`{"row":${given}}\n`);
      }
    } finally {
      isOver = true;
    }
  }
  const rows = await readRowLines<{ row: number }>(endless(), ({ row }) => row === 3);
  expect(rows).toEqual([{ row: 1 }, { row: 2 }, { row: 3 }]);
  expect([given, isOver]).toEqual([3, true]);
});

test('the event loop runs while a long result is parsed', async () => {
  const line = `${JSON.stringify(Array.from({ length: 20_000 }, (_, index) => `${index}`))}\n`;
  let rounds = 0;
  let next = setImmediate(function count() {
    rounds += 1;
    next = setImmediate(count);
  });
  // Some 20 MB: many turns of parsing on any machine.
  await parseRowLines(line.repeat(120));
  clearImmediate(next);
  expect(rounds).toBeGreaterThanOrEqual(5);
});
