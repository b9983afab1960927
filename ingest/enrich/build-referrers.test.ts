import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { referrersText } from './build-referrers.mjs';

test('the committed list equals what its sources generate', () => {
  expect(readFileSync(join(import.meta.dirname, 'referrers.json'), 'utf8')).toBe(referrersText());
});
