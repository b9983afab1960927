import { expect, test } from 'vitest';
import { Requester } from './requester.ts';

const later = () => new Promise((resolve) => setImmediate(resolve));

test('a request is found after every wait inside of it, and nowhere else', async () => {
  const seen: (string | undefined)[] = [];
  const look = () => seen.push(Requester.current?.team);
  const question = async (waits: number) => {
    for (let wait = 0; wait < waits; wait += 1) {
      await later();
      look();
      await Promise.all([later().then(look), Promise.resolve().then(look)]);
    }
  };
  for (let round = 0; round < 2; round += 1) {
    seen.length = 0;
    // The first ends before the second, which must not notice.
    const first = new Requester('a').run(() => question(1));
    const second = new Requester('b').run(() => question(3));
    look();
    await first;
    look();
    await second;
    look();
    expect([seen.filter((team) => team === 'a').length, seen.filter((team) => team === 'b').length]).toEqual([
      3, 9,
    ]);
    expect(seen.filter((team) => team === undefined)).toHaveLength(3);
  }
});

test('a request that fails is over, too', async () => {
  await expect(new Requester('a').run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(Requester.current).toBeUndefined();
  expect(await new Requester('b').run(async () => Requester.current?.team)).toBe('b');
});
