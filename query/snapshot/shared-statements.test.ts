import { expect, test } from 'vitest';
import { Metrics } from '../../infra/metrics.ts';
import { RejectError } from '../reject.ts';
import { NO_SEAM } from './seam.ts';
import { SharedStatements } from './shared-statements.ts';

const SEAM = { ...NO_SEAM };
const STATEMENT = {
  name: 'pages',
  parameters: { site: 'shop', from: 1, keys: [1n, 2n] },
  texts: { columns: 'a' },
};

/** Runs that end when the test says so. */
function runs() {
  const begun: ((end: number | Error) => void)[] = [];
  const run = () =>
    new Promise<number[]>((resolve, reject) => {
      begun.push((end) => (end instanceof Error ? reject(end) : resolve([end])));
    });
  return { begun, run };
}

test('equal statements over one seam run once while they run', async () => {
  const shared = new SharedStatements(new Metrics());
  const { begun, run } = runs();
  const equal = { ...STATEMENT, parameters: { ...STATEMENT.parameters, keys: [1n, 2n] } };
  const both = [shared.rows(STATEMENT, SEAM, run), shared.rows(equal, SEAM, run)];
  expect(begun).toHaveLength(1);
  begun[0]?.(7);
  expect(await Promise.all(both)).toEqual([[7], [7]]);
  const later = shared.rows(STATEMENT, SEAM, run);
  expect(begun).toHaveLength(2);
  begun[1]?.(8);
  expect(await later).toEqual([8]);
});

test.each([
  ['name', { ...STATEMENT, name: 'metrics' }, SEAM],
  ['parameter', { ...STATEMENT, parameters: { ...STATEMENT.parameters, keys: [1n, 3n] } }, SEAM],
  ['text', { ...STATEMENT, texts: { columns: 'b' } }, SEAM],
  ['seam', STATEMENT, { ...NO_SEAM }],
])('with another %s a statement runs by itself', async (_, other, seam) => {
  const shared = new SharedStatements(new Metrics());
  const { begun, run } = runs();
  const both = [shared.rows(STATEMENT, SEAM, run), shared.rows(other, seam, run)];
  expect(begun).toHaveLength(2);
  begun[0]?.(1);
  begun[1]?.(2);
  expect(await Promise.all(both)).toEqual([[1], [2]]);
});

test.each(['left', 'waited'] as const)(
  'a client that ends (%s) takes no other question along; any other failure is that of all',
  async (reason) => {
    const shared = new SharedStatements(new Metrics());
    const { begun, run } = runs();
    const gone = shared.rows(STATEMENT, SEAM, run);
    const stays = shared.rows(STATEMENT, SEAM, run);
    begun[0]?.(new RejectError(reason, 'only this client'));
    await expect(gone).rejects.toMatchObject({ reason });
    await expect.poll(() => begun.length).toBe(2);
    begun[1]?.(3);
    expect(await stays).toEqual([3]);
    const both = [shared.rows(STATEMENT, SEAM, run), shared.rows(STATEMENT, SEAM, run)];
    begun[2]?.(new RejectError('too-slow', 'it took too long'));
    for (const each of both) await expect(each).rejects.toMatchObject({ reason: 'too-slow' });
    expect(begun).toHaveLength(3);
  },
);
