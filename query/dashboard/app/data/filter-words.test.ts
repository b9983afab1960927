import { expect, test } from 'vitest';
import { readLook } from './address.ts';
import { filterWords } from './filter-words.ts';

const wordsIn = (hash: string) => readLook(hash).filters.map(filterWords);

test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])(
  'a filter on the field %s of an address is shown as it is',
  (name) => {
    expect(wordsIn(`#/demo/overview?f=${name}~is~x~y`)).toEqual([`${name} is x or y`]);
    const { own } = readLook(`#/demo/overview?${name}=x`);
    expect(Object.entries(own)).toEqual([[name, 'x']]);
  },
);

test('a filter is a sentence with the words of its field, operator and values', () => {
  expect(wordsIn('#/demo/overview?f=country~isNot~DE~no&f=channel~isNull')).toEqual([
    'Country is not Germany or no',
    'Channel is unknown',
  ]);
});
