import { expect, test } from 'vitest';
import { viewerScript } from './viewer.ts';

test('a missing script is an error that says what to do', () => {
  expect(() => viewerScript('/nowhere')).toThrow(/\/nowhere\/node_modules\/.*; run npm ci$/);
});

test('the script contains the whole viewer', () => {
  expect(viewerScript().byteLength).toBeGreaterThan(1024 ** 2);
});
