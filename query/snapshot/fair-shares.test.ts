import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { Metrics } from '../../infra/metrics.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { FairQueue } from './fair-queue.ts';
import type { FairQueueLimits } from './queue-shares.ts';
import { Requester } from './requester.ts';

// The limits of the statements of one process (history-shard.ts).
const LIMITS: FairQueueLimits = {
  runningMax: 8,
  siteRunningMax: 4,
  waitingMax: 200,
  teamWaitingMax: 150,
  siteWaitingMax: 100,
  waitMaxMs: HOUR_MS,
};
const LONG_MS = 4_000;
const SHORT_MS = 100;

// Virtual time: a statement is a timer.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

interface StatementAsker {
  readonly team: string;
  readonly client?: string;
  readonly site?: string;
  readonly takesMs: number;
  /** Number of statements, one after the other. */
  readonly statements: number;
  readonly isLong?: boolean;
}

/** Statements with a known time in the store, and their order of start. */
function storeOf(limits: Partial<FairQueueLimits> = {}) {
  const queue = new FairQueue({ name: 'q', limits: { ...LIMITS, ...limits }, metrics: new Metrics() });
  const begun: string[] = [];
  const took = new Map<string, number>();
  const ask = async ({
    team,
    client = '',
    site = team,
    takesMs,
    statements,
    isLong = false,
  }: StatementAsker) => {
    for (let statement = 0; statement < statements; statement += 1) {
      const requester = new Requester(team, undefined, client);
      await queue.run({ requester, site: storedId(site), isLong }, async () => {
        begun.push(client === '' ? team : `${team}/${client}`);
        await new Promise((resolve) => setTimeout(resolve, takesMs));
        took.set(team, (took.get(team) ?? 0) + takesMs);
      });
    }
  };
  return { queue, begun, took, ask };
}

function many(count: number, asker: (index: number) => StatementAsker): StatementAsker[] {
  return Array.from({ length: count }, (_, index) => asker(index));
}

/** Advances time until everything is answered. */
async function endOf(all: readonly Promise<void>[]): Promise<void> {
  let isOver = false;
  const over = Promise.all(all).then(() => {
    isOver = true;
  });
  while (!isOver) await vi.advanceTimersByTimeAsync(SHORT_MS);
  await over;
}

test('a question of four statements beside 40 askers of another team begins after no statement of theirs', async () => {
  const { begun, ask } = storeOf();
  const others = many(40, (index) => ({
    team: 'a',
    client: `${index}`,
    site: `a${index % 10}`,
    takesMs: LONG_MS,
    statements: 4,
  })).map(ask);
  await vi.advanceTimersByTimeAsync(10_000);
  const before = begun.length;
  const startedMs = performance.now();
  const mine = ask({ team: 'b', takesMs: SHORT_MS, statements: 4 });
  await vi.advanceTimersByTimeAsync(4 * SHORT_MS);
  await mine;
  expect(performance.now() - startedMs).toBe(4 * SHORT_MS);
  expect(begun.slice(before)).toEqual(['b', 'b', 'b', 'b']);
  await endOf(others);
});

test('the last place is for a team that has none, however many teams ask for more', async () => {
  const { queue, ask } = storeOf();
  const others = ['a', 'b'].flatMap((team) =>
    many(20, (index) => ({
      team,
      client: `${index}`,
      site: `${team}${index}`,
      takesMs: LONG_MS,
      statements: 2,
    })).map(ask),
  );
  await vi.advanceTimersByTimeAsync(1);
  expect([queue.running, queue.waiting]).toEqual([7, 33]);
  const waits: number[] = [];
  const newcomers = many(5, (index) => ({ team: `new${index}`, takesMs: SHORT_MS, statements: 1 }));
  for (const newcomer of newcomers) {
    const startedMs = performance.now();
    const mine = ask(newcomer);
    await vi.advanceTimersByTimeAsync(SHORT_MS);
    await mine;
    waits.push(performance.now() - startedMs - SHORT_MS);
  }
  expect(waits).toEqual([0, 0, 0, 0, 0]);
  await endOf(others);
});

test('the last place of long statements is for a team that has none of them', async () => {
  const { begun, ask } = storeOf();
  const long = (team: string) =>
    many(6, (index) => ({
      team,
      client: `${index}`,
      site: `${team}${index}`,
      takesMs: LONG_MS,
      statements: 1,
      isLong: true,
    }));
  const others = [...long('a'), ...long('b')].map(ask);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun.map((name) => name.slice(0, 1))).toEqual(['a', 'a', 'a', 'b']);
  // Once the first have ended, one of the four places stays free of both teams.
  await vi.advanceTimersByTimeAsync(LONG_MS);
  const before = begun.length;
  const third = ask({ team: 'c', takesMs: SHORT_MS, statements: 1, isLong: true });
  await vi.advanceTimersByTimeAsync(SHORT_MS);
  await third;
  expect(begun[before]).toBe('c');
  await endOf(others);
});

test('places go by milliseconds: a team of short statements begins more of them than one of long ones', async () => {
  const { queue, begun, took, ask } = storeOf({ siteRunningMax: 8 });
  const slow = many(20, () => ({ team: 'slow', takesMs: 1_000, statements: 20 })).map(ask);
  const fast = many(20, () => ({ team: 'fast', takesMs: 100, statements: 200 })).map(ask);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(queue.waiting).toBeGreaterThan(10);
  const of = (team: string) => begun.filter((name) => name === team).length;
  // With round robin over statements both would run the same number, and the slow team would use ten times the time.
  expect(of('fast') / of('slow')).toBeGreaterThan(4);
  const ratio = (took.get('slow') ?? 0) / (took.get('fast') ?? 1);
  expect(ratio).toBeGreaterThan(0.5);
  expect(ratio).toBeLessThan(2);
  await endOf([...slow, ...fast]);
});

test('a team that has used much lately waits for one that has not, and a minute later it does not', async () => {
  const { begun, ask } = storeOf({ runningMax: 2, siteRunningMax: 1 });
  await endOf([ask({ team: 'a', takesMs: 20_000, statements: 1 })]);
  const busy = [
    ask({ team: 'c', takesMs: 1_000, statements: 1 }),
    ask({ team: 'd', takesMs: 1_000, statements: 1 }),
  ];
  const later = [
    ask({ team: 'a', takesMs: SHORT_MS, statements: 1 }),
    ask({ team: 'b', takesMs: 2_000, statements: 1 }),
  ];
  await endOf([...busy, ...later]);
  expect(begun).toEqual(['a', 'c', 'd', 'b', 'a']);
});

test('within a team, a client begins beside any number of statements of another one', async () => {
  const { queue, begun, ask } = storeOf();
  const viewer = many(40, (index) => ({
    team: 'a',
    client: 'viewer',
    site: `a${index}`,
    takesMs: LONG_MS,
    statements: 2,
  })).map(ask);
  await vi.advanceTimersByTimeAsync(2 * LONG_MS + 1);
  expect(queue.running).toBe(5);
  const before = begun.length;
  const owner = ask({ team: 'a', client: 'owner', takesMs: SHORT_MS, statements: 3 });
  await vi.advanceTimersByTimeAsync(3 * SHORT_MS);
  await owner;
  expect(begun.slice(before)).toEqual(['a/owner', 'a/owner', 'a/owner']);
  await endOf(viewer);
});

test('within a team, the client that has used the least is next', async () => {
  const { begun, ask } = storeOf({ runningMax: 4 });
  const viewer = many(20, (index) => ({
    team: 'a',
    client: 'viewer',
    site: `a${index}`,
    takesMs: LONG_MS,
    statements: 1,
  })).map(ask);
  const owners = many(3, (index) => ({
    team: 'a',
    client: `owner${index}`,
    site: 'own',
    takesMs: LONG_MS,
    statements: 1,
  })).map(ask);
  await endOf([...viewer, ...owners]);
  const places = ['a/owner0', 'a/owner1', 'a/owner2'].map((name) => begun.indexOf(name));
  expect(places).toEqual([2, 3, 4]);
});

test('a team over its share is known as such, and another one is not', async () => {
  const { queue, ask } = storeOf();
  const permit = () => queue.acquire({ requester: new Requester('b'), site: storedId('b') });
  const ofA = () => queue.acquire({ requester: new Requester('a'), site: storedId('a') });
  const first = await ofA();
  expect([first.isOverShare, first.isContended]).toEqual([false, false]);
  first.release();
  const others = many(40, (index) => ({
    team: 'a',
    site: `a${index % 10}`,
    takesMs: LONG_MS,
    statements: 2,
  })).map(ask);
  await vi.advanceTimersByTimeAsync(10_000);
  const mine = await permit();
  expect([mine.isOverShare, mine.isContended]).toEqual([false, true]);
  const theirs = ofA();
  await vi.advanceTimersByTimeAsync(40_000);
  const { isOverShare, isContended } = await theirs;
  expect([isOverShare, isContended]).toEqual([true, true]);
  expect(mine.isOverShare).toBe(false);
  mine.release();
  (await theirs).release();
  await endOf(others);
  await vi.advanceTimersByTimeAsync(120_000);
  const later = await ofA();
  expect([later.isOverShare, later.isContended]).toEqual([false, false]);
  later.release();
});

test('a team that asked by itself is not over its share when another team begins a flood', async () => {
  const { queue, ask } = storeOf();
  let isFlood = false;
  const found: boolean[] = [];
  const askOnAndOn = async (site: string) => {
    for (let statement = 0; statement < 400; statement += 1)
      await queue.run({ requester: new Requester('b'), site: storedId(site) }, async (permit) => {
        if (isFlood) found.push(permit.isOverShare);
        await new Promise((resolve) => setTimeout(resolve, SHORT_MS));
      });
  };
  // More than one place on average.
  const steady = [askOnAndOn('b0'), askOnAndOn('b1')];
  await vi.advanceTimersByTimeAsync(30_000);
  const flood = many(40, (index) => ({
    team: 'a',
    site: `a${index % 10}`,
    takesMs: LONG_MS,
    statements: 2,
  })).map(ask);
  isFlood = true;
  await endOf([...steady, ...flood]);
  expect(found.length).toBeGreaterThan(150);
  expect(found.filter((isOver) => isOver)).toEqual([]);
});

test('a few short statements are not more than two long ones, however long they are paused', async () => {
  const { queue } = storeOf();
  const acquire = (team: string, site: string, isLong: boolean) =>
    queue.acquire({ requester: new Requester(team), site: storedId(site), isLong });
  const long = [await acquire('a', 'a0', true), await acquire('a', 'a1', true)];
  const short: Awaited<ReturnType<typeof acquire>>[] = [];
  for (const site of ['b0', 'b1', 'b2']) short.push(await acquire('b', site, false));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(short.map(({ isOverShare }) => isOverShare)).toEqual([false, false, false]);
  expect(long.map(({ isOverShare }) => isOverShare)).toEqual([true, true]);
  for (const permit of [...long, ...short]) permit.release();
});

test('the last quarter of the queue is for teams of which few tasks wait', async () => {
  const { queue, ask } = storeOf();
  const fill = (team: string) =>
    many(156, (index) => ({
      team,
      client: `${index}`,
      site: `${team}${index % 10}`,
      takesMs: LONG_MS,
      statements: 1,
    })).map(ask);
  const ofA = fill('a');
  await vi.advanceTimersByTimeAsync(1);
  expect(queue.waiting).toBe(150);
  const asked = many(10, () => ({ team: 'b', takesMs: SHORT_MS, statements: 1 })).map((asker) =>
    ask(asker).then(
      () => 'answered',
      (error: unknown) => error,
    ),
  );
  // One runs and four wait; the others would take what a third team needs.
  await vi.advanceTimersByTimeAsync(1);
  expect(queue.waiting).toBe(154);
  const third = ask({ team: 'c', takesMs: SHORT_MS, statements: 4 });
  await endOf([...ofA, third]);
  const answers = await Promise.all(asked);
  expect(answers.filter((answer) => answer === 'answered')).toHaveLength(5);
  expect(answers.at(-1)).toMatchObject({ reason: 'busy', status: 503 });
});

test('when the only task of a team ends, its next one begins beside that of a team that comes before it', async () => {
  const { begun, queue, ask } = storeOf({ runningMax: 4 });
  await endOf([ask({ team: 'x', takesMs: LONG_MS, statements: 1 })]);
  const all = [
    ask({ team: 'x', takesMs: SHORT_MS, statements: 1 }),
    ask({ team: 'y', takesMs: LONG_MS, statements: 1 }),
    ask({ team: 'z', takesMs: LONG_MS, statements: 1 }),
    ask({ team: 'x', client: 'second', takesMs: LONG_MS, statements: 1 }),
    ask({ team: 'y', client: 'second', takesMs: LONG_MS, statements: 1 }),
  ];
  await vi.advanceTimersByTimeAsync(1);
  expect([queue.running, queue.waiting]).toEqual([3, 2]);
  await vi.advanceTimersByTimeAsync(SHORT_MS);
  expect(begun.slice(4)).toEqual(['y/second', 'x/second']);
  await endOf(all);
});
