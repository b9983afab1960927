import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ChosenFilter, hashOf, type Look, readLook } from './address.ts';

const filter: fc.Arbitrary<ChosenFilter> = fc.record({
  name: fc.string({ minLength: 1 }),
  operator: fc.constantFrom('is' as const, 'doesNotContain' as const, 'isNull' as const),
  values: fc.array(fc.string(), { maxLength: 3 }),
});

const look: fc.Arbitrary<Look> = fc.record({
  site: fc.string({ minLength: 1 }),
  view: fc.string({ minLength: 1 }),
  period: fc.constantFrom<Look['period']>(
    { range: '7d' },
    { range: 'today' },
    { range: 'custom', startDate: '2026-01-01', endDate: '2026-02-01' },
  ),
  compare: fc.constantFrom('previous' as const, 'year' as const, 'off' as const),
  interval: fc.constantFrom(undefined, 'hour' as const),
  filters: fc.array(filter, { maxLength: 4 }),
  segment: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
  own: fc.dictionary(
    fc
      .stringMatching(/^[a-eg-z]{3,8}$/)
      .filter((name) => !['compare', 'interval', 'range', 'segment'].includes(name)),
    fc.string(),
    { noNullPrototype: true },
  ),
});

test('an address restores what was looked at', () => {
  fc.assert(
    fc.property(look, (given) => {
      expect(readLook(hashOf(given))).toEqual(given);
    }),
  );
});

test('what an address does not know is left out', () => {
  const plain = readLook('#/demo');
  expect(plain).toMatchObject({ site: 'demo', view: 'overview', period: { range: '7d' }, filters: [] });
  for (const hash of [
    '#/demo/overview?range=fortnight&compare=x&interval=second',
    '#/demo/overview?f=country&f=country~near~DE&f=',
    '#/demo/overview?startDate=2026-02-01&endDate=2026-01-01',
    '#/demo/overview?startDate=today&endDate=%E0%A4%A',
  ])
    expect(readLook(hash)).toEqual(plain);
});

test('an address of another form names no site', () => {
  expect(readLook('').site).toBe('');
  expect(readLook('#sign-in=abc').site).toBe('');
});
