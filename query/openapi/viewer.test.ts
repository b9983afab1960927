import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { viewerScriptFile } from './viewer.ts';

test('a missing script is an error that says what to do', () => {
  expect(() => viewerScriptFile('/nowhere')).toThrow(/\/nowhere\/node_modules\/.*; run npm ci$/);
});

test('the script contains the whole viewer', () => {
  expect(statSync(viewerScriptFile()).size).toBeGreaterThan(1024 ** 2);
});
