import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../../infra/assert.ts';
import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { encodeJson } from '../../../infra/bus/mirror.ts';
import {
  DELIVERIES_BUCKET,
  type Delivery,
  firstDelivery,
  integrationKeyOf,
} from '../../../processor/integration.ts';
import { BUCKET } from '../testing/fixtures.ts';
import { type ClientKey, type ManageService, startManageService } from '../testing/manage-service.ts';
import { integrationAnswer } from './integration-api.ts';

const ALL = '/manage/integrations';
let service: ManageService;
let root: ClientKey;
let deliveries: KeyedBytes;
/** Values that the status does not depend on. */
let one: string;

beforeAll(async () => {
  service = await startManageService(['team']);
  root = must(service.roots.team, 'the team has a root client');
  deliveries = await service.bus.keyed(DELIVERIES_BUCKET);
  one = await make();
});
afterAll(() => service.stop());

async function make(): Promise<string> {
  const { id: projectId } = await service.makeSite(root, 'Shop');
  const sent = { body: { projectId, ...BUCKET } };
  return (await service.read(integrationAnswer, root, 'POST', ALL, sent)).data.id;
}

/** Writes the progress of an integration as the processor does. */
async function deliver(integrationId: string, delivery: Partial<Delivery>): Promise<void> {
  const key = integrationKeyOf(integrationId);
  const revision = (await deliveries.get(key))?.revision ?? 0;
  await deliveries.put(key, encodeJson({ ...firstDelivery(integrationId, [3, 0]), ...delivery }), revision);
}

const statusOf = async (id: string) =>
  (await service.read(integrationAnswer, root, 'GET', `${ALL}/${id}`)).data.status;

const backfill = (id: string, body: unknown) => service.ask(root, 'POST', `${ALL}/${id}/backfill`, { body });

/** The time that many seconds ago. */
const ago = (seconds: number) => new Date(service.clock.nowMs() - seconds * 1_000).toISOString();

test('the status says what the processor noted, and how long ago everything was brought', async () => {
  const id = await make();
  expect(await statusOf(id)).toMatchObject({ state: 'starting', lagSeconds: null });
  await deliver(id, { first: [4, 0] });
  // A delivery record exists, but nothing is delivered yet.
  expect(await statusOf(id)).toMatchObject({ state: 'starting', lagSeconds: null, deliveredUntil: null });

  const noted = {
    deliveredUntil: ago(12.9),
    committedAt: ago(11),
    sequence: 7,
    files: 9,
    rows: 1_234,
    bytes: 56_789,
  };
  await deliver(id, { ...noted, flushed: [9, 2] });
  const running = { ...noted, state: 'running', failure: null, lagSeconds: 12, backfills: [] };
  await expect.poll(() => statusOf(id)).toEqual(running);
  service.clock.advance(60_000);
  expect((await statusOf(id)).lagSeconds).toBe(72);

  const failure = {
    reason: 'denied' as const,
    message: 'the bucket refuses the key',
    since: ago(30),
    attempts: 4,
    nextTryAt: ago(-8),
  };
  await deliver(id, { ...noted, failure });
  await expect.poll(() => statusOf(id)).toEqual({ ...running, state: 'failing', lagSeconds: 72, failure });
  await service.read(integrationAnswer, root, 'POST', `${ALL}/${id}/pause`);
  expect(await statusOf(id)).toEqual({ ...running, state: 'paused', lagSeconds: 72, failure });
  await service.read(integrationAnswer, root, 'POST', `${ALL}/${id}/resume`);

  // The clock of the processor is ahead.
  await deliver(id, { ...noted, deliveredUntil: ago(-5) });
  await expect.poll(() => statusOf(id)).toMatchObject({ state: 'running', lagSeconds: 0 });
  await deliveries.remove(integrationKeyOf(id));
  await expect.poll(() => statusOf(id)).toMatchObject({ state: 'starting', sequence: 0, files: 0 });
});

test('a backfill is a wish in the record, shown with what became of it', async () => {
  const id = await make();
  const requestedAt = ago(0);
  const wishes = [
    { from: '2026-02-01', to: '2026-02-28' },
    { from: '2026-03-01', to: '2026-03-01' },
    { from: '2026-02-27', to: '2026-03-01' },
  ];
  for (const wish of wishes) expect((await backfill(id, wish)).status).toBe(200);
  const waiting = { state: 'waiting', daysDone: 0, rows: 0, finishedAt: null, requestedAt };
  const { backfills } = await statusOf(id);
  expect(backfills).toMatchObject([
    { ...wishes[0], ...waiting, daysTotal: 28 },
    { ...wishes[1], ...waiting, daysTotal: 1 },
    { ...wishes[2], ...waiting, daysTotal: 3 },
  ]);
  const stored = await service.control.get(integrationKeyOf(id));
  const record = JSON.parse(Buffer.from(must(stored?.bytes, 'it is stored')).toString('utf8'));
  const ids = backfills.map((one) => one.id);
  expect(record.backfills).toEqual(wishes.map((wish, index) => ({ id: ids[index], ...wish, requestedAt })));

  const [done = '', begun = ''] = ids;
  const finishedAt = ago(1);
  await deliver(id, {
    backfills: [
      { id: done, daysDone: 28, daysTotal: 28, rows: 500, finishedAt },
      { id: begun, daysDone: 0, daysTotal: 1, rows: 0, finishedAt: null },
      { id: randomUUID(), daysDone: 1, daysTotal: 2, rows: 3, finishedAt: null },
    ],
  });
  await expect
    .poll(async () => (await statusOf(id)).backfills)
    .toEqual([
      {
        ...wishes[0],
        id: done,
        requestedAt,
        state: 'done',
        daysDone: 28,
        daysTotal: 28,
        rows: 500,
        finishedAt,
      },
      { ...wishes[1], ...waiting, id: begun, state: 'running', daysTotal: 1 },
      { ...wishes[2], ...waiting, id: ids[2], daysTotal: 3 },
    ]);
});

test.each([
  [{ to: '2026-03-01' }, 'from'],
  [{ from: '2026-03-01' }, 'to'],
  [{ from: '2026-02-29', to: '2026-03-01' }, 'from'],
  [{ from: '2026-02-01T00:00:00Z', to: '2026-03-01' }, 'from'],
  [{ from: '1999-12-31', to: '2000-01-01' }, 'from'],
  [{ from: '2026-02-02', to: '2026-02-01' }, 'to'],
  [{ from: '2026-03-01', to: '2026-03-02' }, 'to'],
  [{ from: '2016-02-22', to: '2026-03-01' }, 'to'],
  [{ from: '2026-02-01', to: '2026-02-02', id: randomUUID() }, 'id'],
])('a backfill of %j is refused', async (body, field) => {
  const { status, json } = await backfill(one, body);
  const message = expect.stringMatching(`^${field}: `);
  expect([status, json]).toEqual([400, expect.objectContaining({ message })]);
});

test('a backfill has at most 3,660 days, of which the last may be today', async () => {
  expect((await backfill(one, { from: '2016-02-23', to: '2026-03-01' })).status).toBe(200);
});

test('twenty backfills may wait, and done ones are forgotten beyond fifty', async () => {
  const id = await make();
  const wish = { from: '2026-02-01', to: '2026-02-02' };
  const ask = async (times: number) => {
    for (let index = 0; index < times; index += 1) expect((await backfill(id, wish)).status).toBe(200);
  };
  const finishAll = async () => {
    const { backfills } = await statusOf(id);
    const finishedAt = ago(0);
    const progress = backfills.map((one) => ({ id: one.id, daysDone: 2, daysTotal: 2, rows: 1, finishedAt }));
    await deliver(id, { backfills: progress });
    await expect
      .poll(async () => (await statusOf(id)).backfills.every(({ state }) => state === 'done'))
      .toBe(true);
    return progress.map((one) => one.id);
  };
  await ask(20);
  const { status, json } = await backfill(id, wish);
  const message = expect.stringMatching(/^body: limit of 20 waiting backfills /);
  expect([status, json]).toEqual([400, expect.objectContaining({ message })]);
  await finishAll();
  await ask(20);
  await finishAll();
  await ask(19);
  const all = await finishAll();
  expect(all.length).toBe(59);
  await ask(1);
  const { backfills } = await statusOf(id);
  expect(backfills.slice(0, 50).map((one) => one.id)).toEqual(all.slice(9));
  expect(backfills.slice(50)).toMatchObject([{ ...wish, state: 'waiting' }]);
});
