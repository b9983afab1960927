import { expect, test } from 'vitest';
import { HttpServer } from './http.ts';
import { addStaticFiles, FOREVER_S, isKnown } from './static-asset.ts';

test.each([
  ['', false],
  ['"a"', true],
  ['W/"a"', true],
  ['"b", "a"', true],
  ['*', true],
  ['"ab"', false],
  ['a', false],
])('If-None-Match %s names the tag "a": %s', (header, known) => {
  expect(isKnown(header, '"a"')).toBe(known);
});

test('files are found by name, kept forever, and another name is 404', async () => {
  const server = new HttpServer((error) => {
    throw error;
  });
  const file = (text: string) => ({
    body: Buffer.from(text),
    contentType: 'text/css; charset=utf-8',
    maxAgeS: FOREVER_S,
    headers: [],
    cors: undefined,
  });
  const files = new Map([
    ['a-1.css', file('a')],
    ['b-2.css', file('b')],
  ]);
  addStaticFiles(server, '/files/:name', files);
  const port = await server.listen('127.0.0.1', 0);
  const get = (name: string, headers = {}) => fetch(`http://127.0.0.1:${port}/files/${name}`, { headers });
  try {
    const found = await get('b-2.css');
    expect([found.status, await found.text()]).toEqual([200, 'b']);
    expect(found.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const again = await get('b-2.css', { 'if-none-match': found.headers.get('etag') ?? '' });
    expect(again.status).toBe(304);
    for (const name of ['c.css', '..%2fa-1.css', '__proto__'])
      expect(await (await get(name)).json()).toMatchObject({ status: 404, error: 'Not Found' });
  } finally {
    server.close();
  }
});
