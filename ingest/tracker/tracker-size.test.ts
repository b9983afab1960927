import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { buildTracker, GZIP_MAX_BYTES } from './build-tracker.mjs';

const folder = mkdtempSync(join(tmpdir(), 'footfall-tracker-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the browser script is within its size limit, and uses no eval, document writes or lasting storage', () => {
  const file = join(folder, 'script.js');
  const { rawBytes, gzipBytes } = buildTracker(file);
  const script = readFileSync(file, 'utf8');
  expect(Buffer.byteLength(script)).toBe(rawBytes);
  expect(gzipBytes).toBeLessThanOrEqual(GZIP_MAX_BYTES);
  expect(gzipBytes).toBeGreaterThan(1000);
  expect(script).not.toMatch(
    /\beval\b|new Function|innerHTML|createElement|insertAdjacent|\.cookie|localStorage|indexedDB/,
  );
  expect(script).toMatch(/^\(\(\)=>\{/);
});
