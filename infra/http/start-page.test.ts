import { expect, test } from 'vitest';
import { Metrics } from '../metrics.ts';
import { release } from '../root.ts';
import { HttpServer } from './http.ts';
import { addOperations } from './operations.ts';
import { addStaticAsset } from './static-asset.ts';

async function pageOf(
  prepare: (server: HttpServer) => void,
  path = '/',
): Promise<{ response: Response; text: string }> {
  const server = new HttpServer((error) => {
    throw error;
  });
  prepare(server);
  addOperations(server, {
    metrics: new Metrics(),
    readiness: () => ({ ready: true, shown: {} }),
    mayRead: () => true,
  });
  const port = await server.listen('127.0.0.1', 0);
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}?utm_source=bookmark`);
    return { response, text: await response.text() };
  } finally {
    server.close();
  }
}

const linksIn = (text: string) => [...text.matchAll(/<a href="([^"]*)"/g)].map(([, address]) => address);

test('every process has a page at / that links to what it serves', async () => {
  const { response, text } = await pageOf(() => {});
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(linksIn(text)).toEqual(['healthz/ready', 'healthz/live', 'metrics']);
  expect(text).toContain(release());
});

test('what services announce comes first, and is text', async () => {
  const { text } = await pageOf((server) => {
    server.announce({ path: '/guide', title: 'Guide & <b>more</b>', about: 'How to "begin".' });
  });
  expect(linksIn(text)).toEqual(['guide', 'healthz/ready', 'healthz/live', 'metrics']);
  expect(text).toContain('Guide &amp; &lt;b&gt;more&lt;/b&gt;');
});

test('the page loads nothing and runs nothing', async () => {
  const { response, text } = await pageOf(() => {});
  const policy = response.headers.get('content-security-policy') ?? '';
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; /);
  expect(text).not.toMatch(/<script|<img|https?:/);
  expect(text).toContain('<meta name="viewport"');
});

test('a page of a service at / stays, and the links are at /help', async () => {
  const addPage = (server: HttpServer) =>
    addStaticAsset(server, ['/'], {
      body: Buffer.from('the page of a service'),
      contentType: 'text/html; charset=utf-8',
      maxAgeS: 60,
      headers: [],
      cors: undefined,
    });
  expect((await pageOf(addPage)).text).toBe('the page of a service');
  expect(linksIn((await pageOf(addPage, '/help')).text)).toEqual([
    'healthz/ready',
    'healthz/live',
    'metrics',
  ]);
});
