import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPageView, LineNames, type LogEntry, parseLine, pathOf, utf8 } from './access-log.ts';

function entryOf(line: string): LogEntry {
  const parsed = parseLine(line);
  if (parsed.kind !== 'entry') throw new Error(`unreadable: ${parsed.reason}`);
  return parsed.entry;
}

const HEAD = '10.0.0.1 - - [17/May/2015:10:05:03 +0000]';

test('a combined line is read whole', () => {
  expect(entryOf(`${HEAD} "GET /a?b=c HTTP/1.1" 200 2326 "http://x.example/" "Mozilla/5.0 (X11)"`)).toEqual({
    address: '10.0.0.1',
    atMs: Date.UTC(2015, 4, 17, 10, 5, 3),
    method: 'GET',
    target: '/a?b=c',
    status: 200,
    referrer: 'http://x.example/',
    userAgent: 'Mozilla/5.0 (X11)',
  });
});

test('a common line has neither referrer nor user agent', () => {
  expect(entryOf(`::1 - frank s [17/May/2015:10:05:03 +0000] "GET / HTTP/1.0" 304 -`)).toMatchObject({
    address: '::1',
    referrer: '',
    userAgent: '',
    status: 304,
  });
});

test.each([
  ['+0200', Date.UTC(2015, 4, 17, 8, 5, 3)],
  ['-0730', Date.UTC(2015, 4, 17, 17, 35, 3)],
])('the time zone %s is taken off', (zone, atMs) => {
  expect(entryOf(`1.2.3.4 - - [17/May/2015:10:05:03 ${zone}] "GET / HTTP/1.1" 200 1`).atMs).toBe(atMs);
});

test.each([
  ['quotes', '"a \\"b\\" c"', 'a "b" c'],
  ['backslashes', '"a \\\\ b\\\\"', 'a \\ b\\'],
  ['bytes', '"\\xc3\\xa9"', '\u00c3\u00a9'],
  ['control characters', '"a\\tb"', 'a\tb'],
  ['a missing end', '"Mozilla/5.0 (cut', 'Mozilla/5.0 (cut'],
  ['nothing', '"-"', ''],
])('a user agent with %s is read', (_name, written, read) => {
  expect(entryOf(`${HEAD} "GET / HTTP/1.1" 200 1 "-" ${written}`).userAgent).toBe(read);
});

test('bytes of a path are read as UTF-8', () => {
  expect(utf8(entryOf(`${HEAD} "GET /gr\\xc3\\xb6\\xc3\\x9fe HTTP/1.1" 200 1`).target)).toBe('/größe');
});

test.each([
  ['', 'shape'],
  ['hello', 'shape'],
  ['10.0.0.1 - - [31/Feb/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1', 'date'],
  ['10.0.0.1 - - [17/Mai/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1', 'date'],
  ['10.0.0.1 - - [17/May/2015:25:05:03 +0000] "GET / HTTP/1.1" 200 1', 'date'],
  ['10.0.0.1 - - [-] "GET / HTTP/1.1" 200 1', 'date'],
  [`${HEAD} "-" 408 0`, 'request'],
  [`${HEAD} "\\x16\\x03\\x01" 400 0`, 'request'],
  [`${HEAD} "GET / HTTP/1.1" - 0`, 'status'],
])('%j is unreadable: %s', (line, reason) => {
  expect(parseLine(line)).toEqual({ kind: 'unreadable', reason });
});

test.each([
  ['GET / 200', true],
  ['GET /blog/post 200', true],
  ['GET /blog/post 304', true],
  ['GET /index.php?x=a.png 200', true],
  ['GET /release-1.2 200', true],
  ['GET http://h.example/a 200', true],
  ['GET http://h.example 200', true],
  ['POST / 200', false],
  ['HEAD / 200', false],
  ['GET / 206', false],
  ['GET / 404', false],
  ['GET /style.css 200', false],
  ['GET /a.PNG 200', false],
  ['GET /song.mp3 200', false],
  ['GET /robots.txt 200', false],
  ['GET /feed.xml 200', false],
  ['GET * 200', false],
])('%s: a page view? %s', (request, expected) => {
  const [method = '', target = '', status = ''] = request.split(' ');
  const entry = entryOf(`${HEAD} "${method} ${target} HTTP/1.1" ${status} 1`);
  expect(isPageView(entry)).toBe(expected);
});

test('the path of a target ends where the query begins', () => {
  expect(['/a?b', '/a#b', 'http://h', 'https://h/x?y', 'h:443'].map(pathOf)).toEqual([
    '/a',
    '/a',
    '/',
    '/x',
    undefined,
  ]);
});

test('equal lines have different names, and a second reading gives the same ones', () => {
  const read = () => {
    const names = new LineNames();
    return ['a', 'b', 'a', 'a'].map((line) => names.nameOf(line));
  };
  expect(new Set(read()).size).toBe(4);
  expect(read()).toEqual(read());
});

test('no line makes the parser throw or linger', () => {
  const hostile = [
    '"'.repeat(60_000),
    '\\'.repeat(60_001),
    `${HEAD} "${'\\"'.repeat(30_000)}`,
    `1 1 ${'['.repeat(60_000)}`,
  ];
  const startMs = performance.now();
  for (const line of hostile) expect(parseLine(line).kind).toBe('unreadable');
  expect(performance.now() - startMs).toBeLessThan(2_000);
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (line) => void parseLine(`${HEAD} ${line}`)));
});
