import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSecret } from '../../infra/accounts/client-auth.ts';
import { must } from '../../infra/assert.ts';
import { type ClientKey, type ManageService, startManageService } from '../manage/testing/manage-service.ts';

// Requests whose bodies never come: whether the sender may ask is decided by their heads.

let service: ManageService;
let url: URL;
let site: string;
let root: ClientKey;
let writer: { readonly id: string; readonly secret: string };

beforeAll(async () => {
  service = await startManageService(['team']);
  root = must(service.roots.team, 'the team has a root client');
  url = new URL(await service.serve());
  ({ id: site, write: writer } = await service.makeSite(root, 'Shop'));
});

afterAll(() => service?.stop());

/** The status of a request of which only the head and one byte of the body are sent. */
function statusOfHead(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname);
    const lines = Object.entries({
      host: 'x',
      'content-length': '60000',
      'content-type': 'application/json',
      ...headers,
    });
    socket.write(
      `${method} ${path} HTTP/1.1\r\n${lines.map((line) => line.join(': ')).join('\r\n')}\r\n\r\n{`,
    );
    socket.once('data', (part) => {
      socket.destroy();
      resolve(Number(part.toString('latin1').split(' ')[1]));
    });
    socket.once('error', reject);
  });
}

const CHANGES = [
  ['POST', () => '/manage/projects'],
  ['POST', () => '/manage/clients'],
  ['PATCH', () => `/manage/projects/${site}`],
  ['POST', () => `/manage/projects/${site}/gsc/rows`],
] as const;

test.each(CHANGES)('%s %s rejects by its head who may not manage', async (method, path) => {
  const as = (id: string, secret: string) => ({ 'service-client-id': id, 'service-client-secret': secret });
  expect(await statusOfHead(method, path(), {})).toBe(401);
  expect(await statusOfHead(method, path(), as(root.id, createSecret()))).toBe(401);
  expect(await statusOfHead(method, path(), as(writer.id, writer.secret))).toBe(403);
});

test('a body that is too large is 413 before that', async () => {
  expect(await statusOfHead('POST', '/manage/projects', { 'content-length': '60000000' })).toBe(413);
});
