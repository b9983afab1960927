import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { HttpServer } from './http.ts';
import { addLateAsset, addStaticFiles, FOREVER_S, isKnown } from './static-asset.ts';

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

test('a late asset is made once, when it is first asked for, and again after a failure', async () => {
  const failures: unknown[] = [];
  const server = new HttpServer((error) => failures.push(error));
  let made = 0;
  addLateAsset(server, '/late', {
    make: async () => {
      made += 1;
      await setImmediate();
      if (made === 1) throw new Error('not yet');
      return Buffer.from('late');
    },
    contentType: 'text/plain',
    maxAgeS: 60,
    headers: [],
    cors: undefined,
  });
  const port = await server.listen('127.0.0.1', 0);
  const get = (headers = {}) => fetch(`http://127.0.0.1:${port}/late`, { headers });
  try {
    expect(made).toBe(0);
    const first = await Promise.all([get(), get()]);
    expect(first.map(({ status }) => status)).toEqual([500, 500]);
    expect([made, ...failures.map(String)]).toEqual([1, 'Error: not yet', 'Error: not yet']);
    const answers = await Promise.all([get(), get(), get()]);
    expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(['late', 'late', 'late']);
    const etag = answers[0]?.headers.get('etag') ?? '';
    expect((await get({ 'if-none-match': etag })).status).toBe(304);
    expect(made).toBe(2);
  } finally {
    server.close();
  }
});
