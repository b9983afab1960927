import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { type ManageService, startManageService } from '../manage/testing/manage-service.ts';
import { CookieBrowser, SAME_ORIGIN } from './testing/cookie-browser.ts';

let service: ManageService;
let baseUrl = '';
let browser: CookieBrowser;

beforeAll(async () => {
  service = await startManageService(['team']);
  baseUrl = await service.serve();
  const root = must(service.roots.team, 'the team has a root client');
  await service.makeSite(root, 'Shop');
  browser = new CookieBrowser(baseUrl);
  const body = { clientId: root.id, clientSecret: root.secret };
  expect(await browser.statusOf('POST', '/sign-in', { body })).toBe(200);
});
afterAll(() => service.stop());

const CROSS_SITE = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };

/** Opens a WebSocket; returns the status of the answer, and resolves `closed` with the code of its end. */
function openSocket(headers: Record<string, string>): Promise<{ status: number; closed: Promise<number> }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${baseUrl}/live/shop`, {
      headers: {
        connection: 'upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
        ...headers,
      },
    });
    outgoing.once('error', reject);
    outgoing.once('response', (answer) => {
      answer.resume();
      resolve({ status: answer.statusCode ?? 0, closed: Promise.resolve(0) });
    });
    outgoing.once('upgrade', (answer, socket) => {
      const closed = new Promise<number>((end) => {
        // A close frame of the server: its kind, its length, and the code.
        socket.on('data', (bytes: Buffer) => {
          if (bytes[0] === 0x88) end(bytes.readUInt16BE(2));
        });
      });
      resolve({ status: answer.statusCode ?? 0, closed });
    });
    outgoing.end();
  });
}

test('the cookie shows live visitors to pages of this service only', async () => {
  // Without a processor there is no number, so a permitted viewer gets 503.
  expect(await browser.statusOf('GET', '/live/shop')).toBe(503);
  expect(await browser.statusOf('GET', '/live/shop', { headers: CROSS_SITE })).toBe(401);
  expect(await browser.statusOf('GET', '/live/nowhere')).toBe(404);
  expect(await new CookieBrowser(baseUrl).statusOf('GET', '/live/shop')).toBe(401);
  const cookie = `footfall-session=${browser.cookie('footfall-session')}`;
  expect((await openSocket({ cookie, ...CROSS_SITE })).status).toBe(401);
  expect((await openSocket({ ...SAME_ORIGIN })).status).toBe(401);
  expect((await openSocket({ cookie, origin: 'https://evil.example' })).status).toBe(401);
});

test('a connection ends with the sign-in that opened it', async () => {
  const cookie = `footfall-session=${browser.cookie('footfall-session')}`;
  const { status, closed } = await openSocket({ cookie, origin: baseUrl });
  expect(status).toBe(101);
  expect(await browser.statusOf('POST', '/sign-out')).toBe(204);
  expect(await closed).toBe(4_403);
});
