import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AllowedOrigins } from './allowed-origins.ts';
import { bareName } from './origin.ts';

test.each<[string[], string, boolean]>([
  [['*'], 'https://any.example', true],
  [['*'], 'null', true],
  [['*'], '', false],
  [['https://shop.example'], 'https://shop.example', true],
  [['https://www.shop.example/'], 'http://shop.example', true],
  [['shop.example'], 'https://WWW.Shop.Example', true],
  [['shop.example'], 'https://evilshop.example', false],
  [['shop.example'], 'https://shop.example.evil.example', false],
  [['shop.example'], 'https://sub.shop.example', false],
  [['*.shop.example'], 'https://sub.shop.example', true],
  [['*.shop.example'], 'https://a.b.shop.example', true],
  [['*.shop.example'], 'https://shop.example', false],
  [['*.shop.example'], 'https://evilshop.example', false],
  [['*.shop.example', '*.example'], 'https://other.example', true],
  [['http://localhost:3000'], 'http://localhost:3000', true],
  [['http://localhost:3000'], 'http://localhost:4000', false],
  [[], 'https://shop.example', false],
  [[''], 'https://', false],
])('entries %j and origin %j: %j', (entries, origin, allowed) => {
  expect(new AllowedOrigins().allows(entries, origin)).toBe(allowed);
});

/** The meaning of a single entry. */
function allowedByOne(entry: string, origin: string): boolean {
  const name = bareName(origin);
  if (entry.trim() === '*') return true;
  const allowed = bareName(entry);
  if (!allowed.startsWith('*.')) return allowed !== '' && allowed === name;
  const ending = allowed.slice(1);
  return name.length > ending.length && name.endsWith(ending) && !name.startsWith('.');
}

test('a list allows what one of its entries allows', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', 'www.', 'https://'), maxLength: 6 });
  fc.assert(
    fc.property(fc.array(text, { maxLength: 6 }), text, (entries, origin) => {
      const expected = origin !== '' && entries.some((entry) => allowedByOne(entry, origin));
      expect(new AllowedOrigins().allows(entries, origin)).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
});

test('a list is read once for many look-ups', () => {
  let reads = 0;
  const entries = Array.from(
    { length: 1_000 },
    (_, index) => `*.site-${index}.${'long-name.'.repeat(24)}example`,
  );
  const counted = new Proxy(entries, {
    get(target, name, receiver) {
      if (name === Symbol.iterator || name === 'length') reads += 1;
      return Reflect.get(target, name, receiver);
    },
  });
  const origins = new AllowedOrigins();
  origins.allows(counted, 'https://other.example');
  const first = reads;
  expect(first).toBeGreaterThan(0);
  for (let times = 0; times < 1_000; times += 1)
    origins.allows(counted, `https://${'a.'.repeat(1_000)}example`);
  expect(reads).toBe(first);
});
