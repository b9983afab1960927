import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HttpServer } from '../../infra/http/http.ts';
import { addScriptRoutes } from './script-route.ts';

const SCRIPT = `(() => { /* ${'a script '.repeat(40)} */ })();`;

let folder = '';
let http: HttpServer;
let port = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-script-'));
  writeFileSync(join(folder, 'script.js'), SCRIPT);
  http = new HttpServer((error) => {
    throw error;
  });
  addScriptRoutes(http, {
    paths: ['/assets/menu.js'],
    headers: [['access-control-allow-origin', '*']],
    scriptFile: join(folder, 'script.js'),
  });
  port = await http.listen('127.0.0.1', 0);
});

afterAll(() => {
  http.close();
  rmSync(folder, { recursive: true });
});

interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Unlike `fetch`, sends exactly these headers and does not decompress the body. */
function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Received> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, headers }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers as Record<string, string>,
          body: Buffer.concat(chunks),
        }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

describe('the script', () => {
  test.each([['/script.js'], ['/op1.js'], ['/assets/menu.js']])('is served on %s', async (path) => {
    const { status, headers, body } = await get(path);
    expect(status).toBe(200);
    expect(body.toString()).toBe(SCRIPT);
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=3600',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    });
    expect(headers).not.toHaveProperty('content-encoding');
  });

  test('is compressed as the client accepts, each encoding with its own ETag', async () => {
    const plain = await get('/script.js');
    const gzip = await get('/script.js', { 'accept-encoding': 'gzip' });
    const brotli = await get('/script.js', { 'accept-encoding': 'gzip, deflate, br, zstd' });
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip.body).toString()).toBe(SCRIPT);
    expect(brotli.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(brotli.body).toString()).toBe(SCRIPT);
    expect(new Set([plain, gzip, brotli].map(({ headers }) => headers.etag)).size).toBe(3);
  });

  test('is revalidated by ETag with a 304', async () => {
    const accept = { 'accept-encoding': 'br' };
    const first = await get('/script.js', accept);
    const etag = String(first.headers.etag);
    const again = await get('/script.js', { ...accept, 'if-none-match': `"other", W/${etag}` });
    expect(again.status).toBe(304);
    expect(again.body.length).toBe(0);
    expect(again.headers).toMatchObject({
      etag,
      'cache-control': 'public, max-age=3600',
      vary: 'accept-encoding',
      'access-control-allow-origin': '*',
    });
    const other = await get('/script.js', { 'if-none-match': etag });
    expect(other.status).toBe(200);
  });
});

test.each(['/:name', '/*', 'script.js', '/a?b', '/'])('the path %s is rejected', (path) => {
  const options = { paths: [path], headers: [], scriptFile: join(folder, 'script.js') };
  expect(() => addScriptRoutes(new HttpServer(() => {}), options)).toThrow(path);
});

test('a missing script file fails at startup', () => {
  const options = { paths: [], headers: [], scriptFile: join(folder, 'missing.js') };
  expect(() => addScriptRoutes(new HttpServer(() => {}), options)).toThrow('ENOENT');
});
