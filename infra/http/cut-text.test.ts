import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { copyText, cutText } from './cut-text.ts';

test('a cut is the beginning of the text, and a short text is the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, max) => {
      expect(cutText(text, max)).toBe(text.slice(0, max));
      expect(copyText(text)).toBe(text);
    }),
  );
});

test('a cut does not retain the memory of the whole text', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const count = 2_000;
  const lengthOfWhole = 20_000;
  const heapAfter = (cut: (whole: string) => string) => {
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const cuts = Array.from({ length: count }, (_, index) =>
      cut(Buffer.alloc(lengthOfWhole, `${index} `).toString('latin1')),
    );
    collectGarbage();
    expect(cuts).toHaveLength(count);
    return process.memoryUsage().heapUsed - before;
  };
  // V8 keeps the whole text for a part of it, which is the reason for the copy.
  expect(heapAfter((whole) => whole.slice(0, 100))).toBeGreaterThan((count * lengthOfWhole) / 2);
  expect(heapAfter((whole) => cutText(whole, 100))).toBeLessThan((count * lengthOfWhole) / 10);
});
