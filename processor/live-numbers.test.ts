import { expect, test } from 'vitest';
import { expectOnlyDecodeErrors } from '../infra/testing/garbage.ts';
import { storedId } from '../infra/testing/ids.ts';
import {
  decodeLiveNumbers,
  decodeLiveWatch,
  encodeLiveNumbers,
  encodeLiveUnavailable,
  encodeLiveWatch,
  type LiveNumbers,
} from './live-numbers.ts';

const NUMBERS: LiveNumbers = {
  incarnation: Number.MAX_SAFE_INTEGER,
  number: 12,
  sites: [
    [storedId('shop'), 3, [2 ** 52 - 1, 0]],
    [storedId(''), 0, []],
  ],
  untold: [storedId('blog')],
};

test('messages are read as they were written', () => {
  expect(decodeLiveWatch(encodeLiveWatch(storedId('shop "ü"')))).toBe('shop "ü"');
  expect(decodeLiveNumbers(encodeLiveNumbers(NUMBERS))).toEqual(NUMBERS);
  expect(decodeLiveNumbers(encodeLiveUnavailable())).toMatchObject({ incarnation: 0, sites: [] });
});

test('what is no message is refused, and so is one of another version', () => {
  expectOnlyDecodeErrors(decodeLiveWatch, encodeLiveWatch(storedId('shop')));
  expectOnlyDecodeErrors(decodeLiveNumbers, encodeLiveNumbers(NUMBERS));
  const later = Buffer.from(JSON.stringify({ ...NUMBERS, version: 2, projectId: storedId('shop') }));
  expect(() => decodeLiveWatch(later)).toThrow('version 2');
  expect(() => decodeLiveNumbers(later)).toThrow('version 2');
  for (const sites of [[['shop', -1, []]], [['shop', 1.5, []]], [['shop', 1]], [['shop', 1, ['a']]]])
    expect(() => decodeLiveNumbers(Buffer.from(JSON.stringify({ ...NUMBERS, version: 1, sites })))).toThrow(
      'live numbers: sites',
    );
});
