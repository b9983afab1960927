import { describe, expect, test } from 'vitest';
import { ENTITY_TEXT_MAX_BYTES, ENTITY_PROPERTIES_MAX as PROPERTIES_MAX } from '../../ingest/entity-size.ts';
import { mergeProperties, NUMBER_MAX, propertiesOf, stepProperty } from './properties.ts';

const FULL = Array.from({ length: PROPERTIES_MAX }, (_, index) => [`k${index}`, '1']).flat();

describe('properties that are set', () => {
  const cases: [name: string, known: string[], given: string[], after: string[]][] = [
    [
      'replace those of their name and stay in their place',
      ['a', '1', 'b', '2'],
      ['a', '3'],
      ['a', '3', 'b', '2'],
    ],
    [
      'come behind the others when they are new',
      ['a', '1'],
      ['b', '2', 'c', ''],
      ['a', '1', 'b', '2', 'c', ''],
    ],
    [
      'take away what lies below',
      ['a.b', '1', 'ab', '2', 'a.b.c', '3', 'b', '4'],
      ['a', '5'],
      ['ab', '2', 'b', '4', 'a', '5'],
    ],
    ['take away the text above', ['a', '1', 'b', '2'], ['a.b.c', '3'], ['b', '2', 'a.b.c', '3']],
    [
      'leave what only begins alike',
      ['ab', '1', 'a-b', '2', 'a', '3'],
      ['a', '4'],
      ['ab', '1', 'a-b', '2', 'a', '4'],
    ],
    ['apply one after the other', [], ['a', '1', 'a.b', '2', 'a.c', '3', 'a', '4'], ['a', '4']],
    [
      'come back below what was taken away',
      ['a.b', '1'],
      ['a', '2', 'a.c', '3', 'a.b', '4'],
      ['a.c', '3', 'a.b', '4'],
    ],
    ['may have empty names', ['', '1', 'a.', '2'], ['.b', '3', 'a', '4'], ['.b', '3', 'a', '4']],
    [
      'may be called as parts of an object are',
      ['__proto__', '1'],
      ['constructor.name', '2'],
      ['__proto__', '1', 'constructor.name', '2'],
    ],
  ];
  test.each(cases)('%s', (_name, known, given, after) => {
    expect(mergeProperties(known, given)).toEqual({ properties: after, isOverCap: false });
  });

  test('are the very same list when nothing is different', () => {
    const known = ['a.b', '1', 'c', '2'];
    expect(mergeProperties(known, ['c', '2', 'a.b', '1']).properties).toBe(known);
    expect(mergeProperties(known, []).properties).toBe(known);
  });

  test('are ignored above the cap, and known ones are still set', () => {
    const { properties, isOverCap } = mergeProperties(FULL, ['new', '1', 'k0', '2', 'k1.deep', '3']);
    expect(isOverCap).toBe(true);
    expect(properties).toHaveLength(2 * PROPERTIES_MAX);
    expect(properties.slice(0, 2)).toEqual(['k0', '2']);
    expect(properties.slice(-2)).toEqual(['k1.deep', '3']);
    expect(properties).not.toContain('new');
  });

  test('may be as many as the cap', () => {
    expect(mergeProperties([], FULL)).toEqual({ properties: FULL, isOverCap: false });
    expect(mergeProperties(FULL.slice(2), ['k0.a', '1', 'k0', '1'])).toMatchObject({ isOverCap: false });
  });
});

describe('the bytes of properties', () => {
  const LONG = 'é'.repeat(2_000);
  const fill = () => {
    let known: readonly string[] = [];
    for (let index = 0; index < 100; index += 1)
      known = mergeProperties(known, [`k${index}`, LONG]).properties;
    return known;
  };
  const bytesOf = (flat: readonly string[]) => Buffer.byteLength(flat.join(''));

  test('have a cap, however many updates add to them', () => {
    const known = fill();
    expect(bytesOf(known)).toBeLessThanOrEqual(ENTITY_TEXT_MAX_BYTES);
    expect(bytesOf(known)).toBeGreaterThan(ENTITY_TEXT_MAX_BYTES - 5_000);
    expect(mergeProperties(known, ['more', LONG])).toEqual({ properties: known, isOverCap: true });
    const { properties, isOverCap } = mergeProperties(known, ['more', LONG, 'k0', 'short', 'k1.deep', LONG]);
    expect(isOverCap).toBe(true);
    expect(properties).not.toContain('more');
    expect(properties.slice(0, 2)).toEqual(['k0', 'short']);
    expect(properties.slice(-2)).toEqual(['k1.deep', LONG]);
  });

  test('of a larger document may only fall', () => {
    const known = Array.from({ length: 100 }, (_, index) => [`k${index}`, LONG]).flat();
    expect(mergeProperties(known, ['k0', `${LONG}é`]).isOverCap).toBe(true);
    expect(mergeProperties(known, ['new', '1']).isOverCap).toBe(true);
    expect(mergeProperties(known, ['k0', 'short'])).toEqual({
      properties: ['k0', 'short', ...known.slice(2)],
      isOverCap: false,
    });
    expect(stepProperty([...known, 'n', '9'], { property: 'n', step: '1' })).toEqual({ kind: 'over-cap' });
    expect(stepProperty([...known, 'n', '8'], { property: 'n', step: '1' })).toMatchObject({
      kind: 'stepped',
    });
    expect(stepProperty(known, { property: 'n', step: '1' })).toEqual({ kind: 'over-cap' });
  });
});

describe('a step', () => {
  const cases: [name: string, known: string[], property: string, step: string, after: string[]][] = [
    ['starts from 0', [], 'n', '2.50', ['n', '2.5']],
    ['of an absent one may go below 0', ['a', '1'], 'n', '-3', ['a', '1', 'n', '-3']],
    ['adds, and the property stays in its place', ['n', '1.9', 'a', '1'], 'n', '0.1', ['n', '2', 'a', '1']],
    ['reaches into the tree', ['a.b', '5', 'a.c', '1'], 'a.b', '1', ['a.b', '6', 'a.c', '1']],
    ['makes a branch', ['a.c', '1'], 'a.b', '1', ['a.c', '1', 'a.b', '1']],
    [
      'is exact beyond what doubles hold',
      ['n', '9007199254740993'],
      'n',
      '0.000000000001',
      ['n', '9007199254740993.000000000001'],
    ],
    ['reads numbers as JSON writes them', ['n', '1e+21'], 'n', '1', ['n', '1000000000000000000001']],
    ['reads small numbers as JSON writes them', ['n', '-1.5e-7'], 'n', '1', ['n', '0.99999985']],
    [
      'keeps to names that only begin alike',
      ['nn', 'x', 'n-', 'y'],
      'n',
      '1',
      ['nn', 'x', 'n-', 'y', 'n', '1'],
    ],
    [
      'leads to a number of 64 characters',
      ['n', '0.1'],
      'n',
      `1${'0'.repeat(61)}`,
      ['n', `1${'0'.repeat(61)}.1`],
    ],
    ['is no object', [], '__proto__', '1', ['__proto__', '1']],
  ];
  test.each(cases)('%s', (_name, known, property, step, properties) => {
    expect(stepProperty(known, { property, step })).toEqual({ kind: 'stepped', properties });
  });

  const rejects: [name: string, known: string[], property: string, step: string][] = [
    ['text', ['n', 'ten'], 'n', '1'],
    ['an empty text', ['n', ''], 'n', '1'],
    ['a text that begins with a number', ['n', '1 apple'], 'n', '1'],
    ['a number of another notation', ['n', '0x10'], 'n', '1'],
    ['NaN', ['n', 'NaN'], 'n', '1'],
    ['a branch', ['a.b', '1'], 'a', '1'],
    ['what lies below a text', ['a', '1'], 'a.b.c', '1'],
    ['a number that is too long', ['n', '1'.repeat(NUMBER_MAX + 1)], 'n', '1'],
    ['a number when the sum is too long', ['n', '9'.repeat(NUMBER_MAX)], 'n', '1'],
    ['a number that is too long without its exponent', ['n', '1e+99'], 'n', '1'],
    ['nothing when the step is too long', [], 'n', `1${'0'.repeat(NUMBER_MAX)}`],
  ];
  test.each(rejects)('cannot be added to %s', (_name, known, property, step) => {
    expect(stepProperty(known, { property, step })).toEqual({ kind: 'not-a-number' });
  });

  test('makes no property when there are too many, and adds to those that are there', () => {
    expect(stepProperty(FULL, { property: 'new', step: '1' })).toEqual({ kind: 'over-cap' });
    expect(stepProperty(FULL, { property: 'k511', step: '1' })).toMatchObject({ kind: 'stepped' });
    expect(stepProperty(FULL.slice(2), { property: 'new', step: '1' })).toMatchObject({ kind: 'stepped' });
  });
});

test('keys and values make properties in their order', () => {
  expect(propertiesOf(['b', '__proto__'], ['1', ''])).toEqual(['b', '1', '__proto__', '']);
});
