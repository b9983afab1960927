import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { StableAnswers, shortened } from './stable.ts';

const START_MS = Date.parse('2026-01-05T09:00:00Z');
const hex = (bytes: number) => randomBytes(bytes).toString('hex');
const letters = () => randomBytes(32).toString('base64url');

function runOf(afterMs: number) {
  const [id, device] = [randomUUID(), hex(16)];
  const createdAt = new Date(START_MS + afterMs).toISOString();
  return {
    id,
    secret: `sec_${hex(20)}`,
    token: `${hex(16)}${letters()}`,
    viewToken: `${Buffer.from(`[1,"${hex(12)}"]`).toString('base64url')}.${letters()}`,
    link: letters(),
    profileDigest: hex(32),
    cursor: `2026-01-05T08:00:00.000Z_${device}_${hex(16)}`,
    deviceId: device,
    text: `"${id}","${device}"`,
    createdAt,
    status: { lagSeconds: afterMs / 1_000, rowsRemoved: { events: afterMs } },
  };
}

test('what differs between two runs is the same when it is shown, and no random text is left', () => {
  const runs = [runOf(1_000), runOf(60_000)];
  const shown = runs.map((run) => new StableAnswers(START_MS, []).json(run, 'get /'));
  expect(shown[1]).toEqual(shown[0]);
  expect(shown[0]).toMatchObject({ createdAt: '2026-01-05T09:00:00.000Z' });
  for (const run of runs)
    for (const name of ['id', 'secret', 'token', 'viewToken', 'link', 'profileDigest', 'deviceId'] as const)
      expect(JSON.stringify(shown)).not.toContain(run[name]);
});

test('an id is the same wherever it is shown, and has its form', () => {
  const [stable, run] = [new StableAnswers(START_MS, []), runOf(0)];
  const { id, deviceId, cursor } = stable.json(run, 'get /a') as typeof run;
  expect(stable.json({ id: run.id, of: [run.cursor] }, 'get /b')).toEqual({ id, of: [cursor] });
  expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-a[\da-f]{3}-[\da-f]{12}$/);
  expect(cursor).toContain(`Z_${deviceId}_`);
});

test('ids of an answer do not depend on the answers before', () => {
  const shown = [0, 3].map((before) => {
    const stable = new StableAnswers(START_MS, []);
    for (let count = 0; count < before; count += 1) stable.json(randomUUID(), 'get /before');
    return stable.json(randomUUID(), 'get /');
  });
  expect(shown[1]).toBe(shown[0]);
});

test('times before the start stay, and later ones are rounded down', () => {
  const times = ['2026-01-05T08:59:59.999Z', '2026-01-05T09:04:31.234Z', '2026-01-06T09:04:31.234Z'];
  expect(new StableAnswers(START_MS, []).json(times, 'get /')).toEqual([
    '2026-01-05T08:59:59.999Z',
    '2026-01-05T09:00:00.000Z',
    '2026-01-06T09:00:00.000Z',
  ]);
});

test('a replaced text is shown everywhere instead of the real one', () => {
  const stable = new StableAnswers(START_MS, [['127.0.0.1:49152', '192.0.2.10:9000']]);
  expect(stable.json({ message: 'http://127.0.0.1:49152 denied' }, 'get /')).toEqual({
    message: 'http://192.0.2.10:9000 denied',
  });
});

test('a long list is cut from its first row that counts, and a list of numbers is not', () => {
  const rows = [0, 0, 5, 0, 7, 8].map((visitors, minute) => ({ date: `09:0${minute}`, visitors }));
  expect(shortened(rows)).toEqual(rows.slice(2, 5));
  expect(shortened(rows.slice(0, 4))).toEqual(rows.slice(0, 4));
  expect(shortened(rows.slice(0, 4), 1)).toEqual([rows[2]]);
  expect(shortened([1, 2, 3, 4, 5, 6])).toEqual([1, 2, 3, 4, 5, 6]);
});
