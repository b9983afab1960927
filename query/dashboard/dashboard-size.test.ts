import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { buildDashboard, GZIP_MAX_BYTES } from './build-dashboard.mjs';

const folder = mkdtempSync(join(tmpdir(), 'footfall-dashboard-'));
afterAll(() => rmSync(folder, { recursive: true }));

const { gzipBytes } = buildDashboard(folder);
const page = readFileSync(join(folder, 'page.html'), 'utf8');
const files = new Map(
  readdirSync(join(folder, 'files')).map((name) => [name, readFileSync(join(folder, 'files', name))]),
);
const named = [...page.matchAll(/(?:src|href)="dashboard\/([^"]+)"/g)].map(([, name = '']) => name);

test('what is loaded before figures are shown is within 120 KB', () => {
  const zipped = (bytes: Uint8Array) => gzipSync(bytes, { level: 9 }).byteLength;
  const sum = named.reduce((total, name) => total + zipped(files.get(name) ?? Buffer.alloc(0)), 0);
  expect(zipped(Buffer.from(page)) + sum).toBe(gzipBytes);
  expect(gzipBytes).toBeLessThanOrEqual(GZIP_MAX_BYTES);
  expect(GZIP_MAX_BYTES).toBe(120 * 1_024);
  expect(gzipBytes).toBeGreaterThan(20_000);
});

test('the page names files that exist, whose names say their content, and other views are files of their own', () => {
  expect(named.length).toBeGreaterThan(1);
  for (const name of named) expect(files.has(name), name).toBe(true);
  for (const name of files.keys()) expect(name).toMatch(/-[A-Z0-9]{8}\.(js|css)$/);
  const later = [...files.keys()].filter((name) => !named.includes(name)).join(' ');
  for (const view of ['realtime', 'installation']) expect(later).toContain(`${view}-`);
});

test('the page has no text that runs or styles, no address of another host, and makes no markup from text', () => {
  expect(page).not.toMatch(/<style|style=|\son\w+=|https?:|src="\/|href="\//);
  expect(page).not.toMatch(/<script(?![^>]* src=)/);
  for (const [name, bytes] of files) {
    const text = bytes.toString('utf8');
    expect(text, name).not.toMatch(/\beval\(|new Function|document\.write|localStorage|document\.cookie/);
    expect(text, name).not.toMatch(/url\(["']?(?!data:)/);
  }
});
