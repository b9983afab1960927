import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { digestsOf } from './digests.ts';

test.each([0, 1, 524_287, 524_288, 524_289, 3_000_000])(
  'hashing %i bytes in pieces gives the digests of all bytes',
  async (size) => {
    const bytes = randomBytes(size);
    expect(await digestsOf(bytes)).toEqual({
      sha256: createHash('sha256').update(bytes).digest('hex'),
      md5: createHash('md5').update(bytes).digest('base64'),
    });
  },
);

test('the event loop runs between the pieces of a large body', async () => {
  let iterations = 0;
  let isDone = false;
  const countIteration = () => {
    iterations += 1;
    if (!isDone) setImmediate(countIteration);
  };
  setImmediate(countIteration);
  await digestsOf(Buffer.alloc(20 * 524_288));
  isDone = true;
  expect(iterations).toBeGreaterThanOrEqual(18);
});
