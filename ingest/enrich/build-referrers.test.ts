import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { referrersText } from './build-referrers.mjs';

test('the committed list is what its sources make', () => {
  expect(readFileSync(join(import.meta.dirname, 'referrers.json'), 'utf8')).toBe(referrersText());
});
