import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../cluster/shipped-service.ts';
import { variantsOf } from './variants.ts';

test('without words there is one variant, the service as it ships', () => {
  expect(variantsOf([], [])).toEqual([{ name: '', settings: DEFAULT_SETTINGS }]);
});

test('each comparison differs from the first by its own words', () => {
  const [first, second, third] = variantsOf(['WORKERS=2'], ['PARTITIONS=64 WORKERS=1', 'tree=/a node=/b']);
  expect(first.settings.env).toEqual({ WORKERS: '2' });
  expect(second?.settings.env).toEqual({ WORKERS: '1', PARTITIONS: '64' });
  expect(third?.settings).toEqual({ tree: '/a', node: '/b', env: { WORKERS: '2' } });
});

test('other words are rejected', () => {
  expect(() => variantsOf(['partitions=2'], [])).toThrow('expected NAME=VALUE');
  expect(() => variantsOf([], ['PARTITIONS'])).toThrow('expected NAME=VALUE');
});
