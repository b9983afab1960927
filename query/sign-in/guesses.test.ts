import { expect, test } from 'vitest';
import { ManualClock } from '../../infra/clock.ts';
import { GUESSES, Guesses, HASHES } from './guesses.ts';
import { Passphrases } from './passphrases.ts';

const HERE = '203.0.113.1';

function start() {
  const clock = new ManualClock(Date.UTC(2026, 2, 1));
  return { clock, guesses: new Guesses(clock) };
}

test('the hashes of a customer are bounded, right ones too, and its networks share the bound', async () => {
  const { guesses, clock } = start();
  let derived = 0;
  const passphrases = new Passphrases(async (_passphrase, _salt) => {
    derived += 1;
    return Buffer.alloc(32);
  });
  const attempt = async (address: string) => {
    const sender = guesses.senderOf(address, undefined);
    if (!guesses.takeHash(sender).allowed) return;
    await passphrases.verify('users', undefined, 'four words are enough', sender);
  };
  for (let index = 0; index < 12 * HASHES.failuresMax; index += 1)
    await attempt(`2001:db8:7:${((index % 60) * 0x100).toString(16)}::1`);
  expect(derived).toBe(10 * HASHES.failuresMax);
  for (let index = 0; index < 2 * HASHES.failuresMax; index += 1) await attempt(HERE);
  expect(derived).toBe(11 * HASHES.failuresMax);
  clock.advance(HASHES.windowMs);
  await attempt(HERE);
  expect(derived).toBe(11 * HASHES.failuresMax + 1);
});

test('a known browser has attempts of its own, and is a stranger when they are used up', () => {
  const { guesses, clock } = start();
  const stranger = guesses.senderOf(HERE, undefined);
  for (let count = 0; count < GUESSES.failuresMax; count += 1) guesses.begin(stranger);
  expect(guesses.begin(stranger).allowed).toBe(false);
  const known = guesses.senderOf(HERE, 'ada');
  for (let count = 0; count < GUESSES.failuresMax; count += 1)
    expect(guesses.begin(known).allowed).toBe(true);
  expect(guesses.senderOf(HERE, 'ada')).toEqual({ address: HERE });
  expect(guesses.senderOf(HERE, 'bob')).toEqual({ address: HERE, known: 'bob' });
  clock.advance(GUESSES.windowMs);
  expect(guesses.senderOf(HERE, 'ada')).toEqual(known);
});
