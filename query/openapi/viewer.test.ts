import { expect, test } from 'vitest';
import { viewerScript } from './viewer.ts';

test('a service without the script does not start, and says what to do', () => {
  expect(() => viewerScript('/nowhere')).toThrow(/\/nowhere\/node_modules\/.*; run npm ci$/);
});

test('the script is the whole viewer', () => {
  expect(viewerScript().byteLength).toBeGreaterThan(1024 ** 2);
});
