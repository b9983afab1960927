import { expect, test } from 'vitest';
import { Semaphore } from './semaphore.ts';

test('as many operations run at once as there are permits, the others in their order, whatever fails', async () => {
  const semaphore = new Semaphore(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  let running = 0;
  let most = 0;
  const works = Array.from({ length: 6 }, (_, number) =>
    semaphore.run(async () => {
      begun.push(number);
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running -= 1;
      if (number % 2 === 0) throw new Error(`work ${number}`);
      return number;
    }),
  );
  const outcomes = Promise.allSettled(works);
  while (ends.length < 6) {
    await expect.poll(() => running).toBe(2);
    ends[begun.length - 2]?.();
    const next = begun.length + 1;
    await expect.poll(() => begun.length).toBe(next);
  }
  for (const end of ends) end();
  expect((await outcomes).map(({ status }) => status)).toEqual(
    Array.from({ length: 6 }, (_, number) => (number % 2 === 0 ? 'rejected' : 'fulfilled')),
  );
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  expect(most).toBe(2);
});
