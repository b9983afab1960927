import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { digestsOf } from './digests.ts';

test.each([0, 1, 524_287, 524_288, 524_289, 3_000_000])(
  'the digests of %i bytes are those of the whole',
  async (size) => {
    const bytes = randomBytes(size);
    expect(await digestsOf(bytes)).toEqual({
      sha256: createHash('sha256').update(bytes).digest('hex'),
      md5: createHash('md5').update(bytes).digest('base64'),
    });
  },
);

test('other work goes on while many bytes are digested', async () => {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await digestsOf(Buffer.alloc(20 * 524_288));
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(18);
});
