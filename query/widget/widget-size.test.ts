import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { buildWidget, GZIP_MAX_BYTES } from './build-widget.mjs';

const folder = mkdtempSync(join(tmpdir(), 'footfall-widget-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the widget is within 3 KB, and makes no markup from text, no cookies and no storage', () => {
  const file = join(folder, 'widget.js');
  const { rawBytes, gzipBytes } = buildWidget(file);
  const script = readFileSync(file);
  expect(script.byteLength).toBe(rawBytes);
  expect(gzipSync(script, { level: 9 }).byteLength).toBe(gzipBytes);
  expect(gzipBytes).toBeLessThanOrEqual(GZIP_MAX_BYTES);
  expect(GZIP_MAX_BYTES).toBe(3 * 1_024);
  expect(gzipBytes).toBeGreaterThan(1_000);
  expect(script.toString('utf8')).not.toMatch(
    /\beval\b|new Function|innerHTML|insertAdjacent|document\.write|\.cookie|localStorage|sessionStorage|indexedDB/,
  );
});
