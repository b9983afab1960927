import { describe, expect, test } from 'vitest';
import { chosenCollection, optionsOf, type TrackerOptions } from './options.ts';

describe('data attributes', () => {
  test('become options of the same names; one without a value is on', () => {
    const attributes = {
      clientId: 'c',
      apiUrl: 'https://stats.example/x',
      trackPath: '/t',
      trackScreenViews: '',
      trackOutgoingLinks: 'true',
      trackHashChanges: 'false',
    };
    const options = optionsOf(attributes);
    expect(options).toMatchObject({ clientId: 'c', apiUrl: 'https://stats.example/x', trackPath: '/t' });
    expect(options.trackScreenViews).toBeTruthy();
    expect(options.trackOutgoingLinks).toBeTruthy();
    expect(options.trackHashChanges).toBe(false);
  });
});

describe('the collection that options choose', () => {
  const cases: [options: TrackerOptions, collection: object | undefined][] = [
    [{}, undefined],
    [{ clientId: 'c', trackPath: '/t', debug: true }, undefined],
    [{ trackScreenViews: true }, { screenViews: true }],
    [{ trackAttributes: false }, { attributes: false }],
    [
      { trackOutgoingLinks: true, trackHashChanges: true, trackAttributes: true },
      { outgoingLinks: true, hashChanges: true, attributes: true },
    ],
  ];
  test.each(cases)('with %j is %j', (options, collection) => {
    expect(chosenCollection(options)).toEqual(collection);
  });
});
