import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Metrics } from '../../infra/metrics.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { MemoryTurns } from './memory-turns.ts';
import { Requester } from './requester.ts';

// Work moves the clock; turns of the event loop are real.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Counts turns of the event loop, and notes the turn of each task. */
function workOn(turns: MemoryTurns) {
  const worked: string[] = [];
  const answer = async (team: string, client: string, tookMs: number) => {
    const end = await turns.take({ requester: new Requester(team, undefined, client), site: storedId(team) });
    worked.push(team);
    vi.advanceTimersByTime(tookMs);
    end();
  };
  return { worked, answer };
}

test('statements that take long are answered one in a turn of the event loop', async () => {
  const { worked, answer } = workOn(new MemoryTurns(new Metrics()));
  const all = Array.from({ length: 40 }, (_, index) => answer('a', `${index}`, 9));
  const byTurn: number[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    await nextTurn();
    byTurn.push(worked.length);
  }
  for (const [turn, count] of byTurn.entries()) expect(count).toBeLessThanOrEqual(turn + 2);
  await Promise.all(all);
  expect(worked).toHaveLength(40);
});

test('short ones share a turn', async () => {
  const { worked, answer } = workOn(new MemoryTurns(new Metrics()));
  const all = Array.from({ length: 40 }, (_, index) => answer('a', `${index}`, 0.05));
  await nextTurn();
  expect(worked).toHaveLength(40);
  await Promise.all(all);
});

test('a statement of another team waits for one of forty that came before', async () => {
  const { worked, answer } = workOn(new MemoryTurns(new Metrics()));
  const all = Array.from({ length: 40 }, (_, index) => answer('a', `${index}`, 9));
  await nextTurn();
  const before = worked.length;
  await answer('b', '', 1);
  expect(worked.indexOf('b') - before).toBeLessThanOrEqual(1);
  await Promise.all(all);
});

test('of one team so many wait at most', async () => {
  const turns = new MemoryTurns(new Metrics());
  const end = await turns.take({ requester: new Requester('a'), site: storedId('a') });
  const waiting = Array.from({ length: 500 }, () =>
    turns.take({ requester: new Requester('a'), site: storedId('a') }).then((done) => done()),
  );
  await expect(turns.take({ requester: new Requester('a'), site: storedId('a') })).rejects.toMatchObject({
    reason: 'busy',
    status: 503,
  });
  end();
  await Promise.all(waiting);
});
