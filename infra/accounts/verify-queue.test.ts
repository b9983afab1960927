import { expect, test } from 'vitest';
import { type QueuedSender, VerifyQueue } from './verify-queue.ts';

const LIMITS = { waitingMax: 50, waitingOfAddressMax: 5 };

/** A queue whose work is counted and ends only when it is released. */
function start() {
  const queue = new VerifyQueue(LIMITS);
  const ran: string[] = [];
  const busy: string[] = [];
  const ends: (() => void)[] = [];
  const ask = (name: string, sender: QueuedSender) => {
    const asked = queue.run(sender, async () => {
      ran.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
      return name;
    });
    void Promise.resolve(asked).then((result) => {
      if (result === 'busy') busy.push(name);
    });
    return asked;
  };
  /** Ends the work that runs, until this much has run. */
  const runUntil = async (count: number) => {
    while (ran.length < count) {
      ends.shift()?.();
      await new Promise(setImmediate);
    }
  };
  return { ask, ran, busy, runUntil };
}

/** Networks of one /48; those below 256 are of one /56. */
const ofCustomer = (network: number) => ({ address: `2001:db8:7:${network.toString(16)}::1` });
const ofCustomers = (customer: number) => ({ address: `2001:db8:${(customer + 16).toString(16)}::1` });

test('sixty networks of one customer have half of the places at most, and the next stranger waits for one of them', async () => {
  const { ask, ran, runUntil } = start();
  const admittedOf = (step: number) =>
    Array.from({ length: 180 }, (_, index) => ask('flood', ofCustomer((index % 60) * step))).filter(
      (result) => result !== 'busy',
    ).length;
  expect(admittedOf(1)).toBe(3 * LIMITS.waitingOfAddressMax);
  expect(admittedOf(0x100)).toBe(LIMITS.waitingMax / 2 - 3 * LIMITS.waitingOfAddressMax);
  expect(ask('person', { address: '203.0.113.1' })).not.toBe('busy');
  await runUntil(3);
  expect(ran).toEqual(['flood', 'flood', 'person']);
});

test('ten addresses that fill the queue make room for an eleventh', async () => {
  const { ask, ran, busy, runUntil } = start();
  for (let host = 0; host < 10; host += 1)
    for (let count = 0; count < 5; count += 1) void ask(`flood ${host}`, { address: `198.51.${host}.1` });
  expect(ask('person', { address: '203.0.113.1' })).not.toBe('busy');
  await runUntil(12);
  expect(ran).toContain('person');
  expect(busy).toHaveLength(1);
  expect(busy[0]).toMatch(/^flood/);
});

test('a known sender is next, however many customers flood, and a stranger still has a turn', async () => {
  const { ask, ran, runUntil } = start();
  for (let customer = 0; customer < 60; customer += 1) void ask('flood', ofCustomers(customer));
  expect(ask('person', { address: '203.0.113.1' })).toBe('busy');
  for (let count = 0; count < 6; count += 1)
    expect(ask(`known ${count}`, { address: '203.0.113.1', known: String(count) })).not.toBe('busy');
  await runUntil(7);
  expect(ran).toEqual(['flood', 'known 0', 'known 1', 'known 2', 'known 3', 'flood', 'known 4']);
});

test('a known sender has as few places as an address, and takes turns with other known ones', async () => {
  const { ask, ran, runUntil } = start();
  const evil = { address: '203.0.113.1', known: 'evil' };
  const asked = Array.from({ length: 8 }, () => ask('evil', evil));
  expect(asked.filter((result) => result === 'busy')).toHaveLength(3);
  void ask('good', { address: '203.0.113.1', known: 'good' });
  await runUntil(3);
  expect(ran).toEqual(['evil', 'evil', 'good']);
});

test('places are free again when the work has ended, also when it failed', async () => {
  const queue = new VerifyQueue(LIMITS);
  const address = '203.0.113.1';
  for (let round = 0; round < 3; round += 1) {
    const asked = Array.from({ length: 5 }, async (_, index) =>
      queue.run({ address }, async () => {
        if (index === 2) throw new Error('no memory');
        return index;
      }),
    );
    expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
  }
});
