import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { must } from '../../../infra/assert.ts';
import { encodeJson } from '../../../infra/bus/mirror.ts';
import { type FaultProxy, startFaultProxy } from '../../../infra/testing/fault-proxy.ts';
import { S3_KEY, type S3Server, startS3 } from '../../../infra/testing/s3-server.ts';
import { integrationKeyOf } from '../../../processor/integration.ts';
import { BUCKET } from '../testing/fixtures.ts';
import { type ClientKey, type ManageService, startManageService } from '../testing/manage-service.ts';
import { integrationAnswer, trialAnswer } from './integration-api.ts';

const ALL = '/manage/integrations';
const TEST_OBJECT = /footfall-test-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

let s3: S3Server;
let proxy: FaultProxy;
let service: ManageService;
let root: ClientKey;
/** The active rules of the proxy. */
const rules: (() => void)[] = [];

beforeAll(async () => {
  s3 = await startS3({ buckets: ['shop-events'] });
  proxy = await startFaultProxy(s3.endpoint);
  service = await startManageService(['team'], { ENDPOINTS_ALLOWED: '127.0.0.1' });
  root = must(service.roots.team, 'the team has a root client');
});
afterEach(() => {
  for (const end of rules.splice(0)) end();
});
afterAll(async () => {
  await service.stop();
  await proxy.stop();
  await s3.stop();
});

async function make(body: object = {}): Promise<string> {
  const { id: projectId } = await service.makeSite(root, 'Shop');
  const sent = { body: { projectId, ...BUCKET, endpoint: proxy.endpoint, ...S3_KEY, ...body } };
  return (await service.read(integrationAnswer, root, 'POST', ALL, sent)).data.id;
}

const tryOut = async (id: string) =>
  (await service.read(trialAnswer, root, 'POST', `${ALL}/${id}/test`)).data;

/** The steps taken, and whether each succeeded. */
const stepsOf = ({ steps }: Awaited<ReturnType<typeof tryOut>>) =>
  Object.fromEntries(steps.map(({ name, ok }) => [name, ok]));

/** Makes requests of a method fail. */
function fail(method: string, fault: Parameters<FaultProxy['fail']>[0]['fault']): void {
  rules.push(proxy.fail({ when: (request) => request.method === method, fault }));
}

test('a test of a working bucket leaves nothing behind', async () => {
  const before = proxy.log.length;
  const trial = await tryOut(await make({ prefix: 'raw/footfall' }));
  expect(trial).toMatchObject({ ok: true, failure: null });
  expect(trial.steps.map(({ name, ok }) => [name, ok])).toEqual([
    ['write', true],
    ['read', true],
    ['remove', true],
  ]);
  const requests = proxy.log.slice(before);
  expect(requests.map(({ method }) => method)).toEqual(['PUT', 'GET', 'DELETE']);
  const [url = ''] = new Set(requests.map((request) => request.url));
  expect(requests.every((request) => request.url === url)).toBe(true);
  expect(url).toMatch(/^\/shop-events\/raw\/footfall\//);
  expect(url).toMatch(TEST_OBJECT);
  expect(await s3.objects()).toEqual(new Map());
});

test('an object that cannot be removed stays below the prefix and is reported', async () => {
  fail('DELETE', { kind: 'answer', status: 403, code: 'AccessDenied' });
  const trial = await tryOut(await make({ prefix: 'raw' }));
  expect(trial).toMatchObject({ ok: false, failure: 'denied', message: expect.stringMatching(/^remove: /) });
  expect(stepsOf(trial)).toEqual({ write: true, read: true, remove: false });
  const [[key, bytes] = ['', Buffer.alloc(0)], ...others] = await s3.objects();
  expect(others).toEqual([]);
  expect(key).toMatch(/^raw\//);
  expect(key).toMatch(TEST_OBJECT);
  expect(bytes.toString('utf8')).toMatch(/footfall/);
  await rm(join(s3.folder, 'shop-events', 'raw'), { recursive: true });
});

test.each([
  ['a wrong secret', { secretAccessKey: 'secret-of-bucket' }, 'denied', { write: false }],
  ['an unknown key', { accessKeyId: 'nobody' }, 'denied', { write: false }],
  ['a bucket that there is not', { bucket: 'no-events' }, 'no-bucket', { write: false }],
  [
    'a closed port',
    { endpoint: 'http://127.0.0.1:1' },
    'unreachable',
    // A request without a response may still have had its effect.
    { write: false, remove: false },
  ],
  ['an address of the inside', { endpoint: 'http://127.0.0.2:9000' }, 'address-refused', { write: false }],
])('%s is a result, not an error', async (_name, body, failure, steps) => {
  const trial = await tryOut(await make(body));
  expect(trial).toMatchObject({ ok: false, failure, message: expect.stringMatching(/^write: ./) });
  expect(stepsOf(trial)).toEqual(steps);
});

test.each([
  ['PUT', { kind: 'answer', status: 507 }, 'full', { write: false }],
  ['PUT', { kind: 'answer', status: 500 }, 'failed', { write: false, remove: true }],
  // The object was written, but the response was lost.
  ['PUT', { kind: 'lose' }, 'unreachable', { write: false, remove: true }],
  [
    'GET',
    { kind: 'answer', status: 404, code: 'NoSuchKey' },
    'failed',
    { write: true, read: false, remove: true },
  ],
  ['GET', { kind: 'answer', status: 200 }, 'failed', { write: true, read: false, remove: true }],
  ['GET', { kind: 'lose' }, 'unreachable', { write: true, read: false, remove: true }],
] as const)(
  'a %s that meets %j is reported, and nothing is left behind',
  async (method, fault, failure, steps) => {
    fail(method, fault);
    const trial = await tryOut(await make());
    expect(trial).toMatchObject({ ok: false, failure });
    expect(stepsOf(trial)).toEqual(steps);
    expect(await s3.objects()).toEqual(new Map());
  },
);

test('one test per integration and four in all run at a time, and a hanging bucket times out', async () => {
  const ids = await Promise.all([1, 2, 3, 4, 5].map(() => make()));
  const [first = '', fifth = ''] = [ids[0], ids[4]];
  fail('PUT', { kind: 'hang' });
  fail('DELETE', { kind: 'hang' });
  const before = proxy.log.length;
  const hanging = ids.slice(0, 4).map(tryOut);
  await expect.poll(() => proxy.log.length - before).toBe(4);
  const rejected = (id: string) => service.ask(root, 'POST', `${ALL}/${id}/test`);
  for (const [id, words] of [
    [first, /this integration is already being tested/],
    [fifth, /4 integrations are already being tested/],
  ] as const) {
    const { status, headers, json } = await rejected(id);
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect(json).toMatchObject({ message: expect.stringMatching(words) });
  }
  for (const trial of await Promise.all(hanging)) {
    expect(trial).toMatchObject({ ok: false, failure: 'slow' });
    expect(stepsOf(trial)).toEqual({ write: false, remove: false });
  }
  for (const end of rules.splice(0)) end();
  for (const id of [first, fifth]) expect(await tryOut(id)).toMatchObject({ ok: true });
});

test('a secret sealed with another key is unreadable until it is set again', async () => {
  const id = await make();
  const key = integrationKeyOf(id);
  const stored = must(await service.control.get(key), 'it is stored');
  const record = JSON.parse(Buffer.from(must(stored.bytes, 'it is there')).toString('utf8'));
  await service.control.put(key, encodeJson({ ...record, sealed: 'AAAA' }), stored.revision);
  await expect.poll(() => tryOut(id)).toMatchObject({ ok: false, failure: 'unreadable', steps: [] });
  await service.read(integrationAnswer, root, 'PATCH', `${ALL}/${id}`, { body: S3_KEY });
  expect(await tryOut(id)).toMatchObject({ ok: true });
});

test('internal addresses are refused unless they are allowed', async () => {
  const closed = await startManageService(['team']);
  const key = must(closed.roots.team, 'the team has a root client');
  await closed.makeSite(key, 'Site');
  const before = proxy.connections;
  for (const host of ['127.0.0.1', 'localhost', '[::ffff:7f00:1]', '2130706433']) {
    const endpoint = `http://${host}:${new URL(proxy.endpoint).port}`;
    const body = { projectId: 'site', ...BUCKET, endpoint, ...S3_KEY };
    const { data } = await closed.read(integrationAnswer, key, 'POST', ALL, { body });
    const trial = (await closed.read(trialAnswer, key, 'POST', `${ALL}/${data.id}/test`)).data;
    expect([host, trial.failure]).toEqual([host, 'address-refused']);
    expect(trial.message).toContain('ENDPOINTS_ALLOWED');
  }
  expect(proxy.connections).toBe(before);
  await closed.stop();
});

test('no response contained a secret', () => {
  expect(service.answers.length).toBeGreaterThan(30);
  for (const text of service.answers) expect(text).not.toContain(BUCKET.secretAccessKey);
});
