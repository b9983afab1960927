import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { Metrics } from '../../infra/metrics.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { FairQueue, type Permit } from './fair-queue.ts';
import type { FairQueueLimits } from './queue-shares.ts';
import { Requester } from './requester.ts';

const WAIT_MAX_MS = 30_000;
const LIMITS: FairQueueLimits = {
  runningMax: 3,
  siteRunningMax: 2,
  waitingMax: 8,
  teamWaitingMax: 6,
  siteWaitingMax: 4,
  waitMaxMs: WAIT_MAX_MS,
};

// Deadlines are timers, moved by hand; `setImmediate` stays real, to let promises run.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const later = () => new Promise((resolve) => setImmediate(resolve));

function queueOf(limits: Partial<FairQueueLimits> = {}) {
  const metrics = new Metrics();
  const queue = new FairQueue({ name: 'q', limits: { ...LIMITS, ...limits }, metrics });
  const ended = (reason: string) => {
    const line = new RegExp(`^query_queue_ended_total{queue="q",reason="${reason}"} (\\d+)$`, 'm');
    return Number(line.exec(metrics.expose())?.[1]);
  };
  return { queue, metrics, ended };
}

/** Tasks that run until the test ends them, in their order of start. `a/x/1` is a task of site x of team a. */
function tasksOn(queue: FairQueue) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    /** Each site has its own client, unless the requester says otherwise. */
    ask: (name: string, requester?: Requester, isLong = false): Promise<void> => {
      const [team = '', site = ''] = name.split('/');
      const own = new Requester(team, undefined, site);
      const task = { requester: requester ?? own, site: storedId(`${team}/${site}`), isLong };
      return queue.run(task, () => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      });
    },
    end: async (name: string): Promise<void> => {
      ends.get(name)?.();
      await later();
    },
    /** Ends all tasks in their order of start. */
    endAll: async (): Promise<void> => {
      for (let index = 0; index < begun.length; index += 1) {
        ends.get(begun[index] ?? '')?.();
        await later();
      }
    },
  };
}

test('a site runs at most its share, and other sites do not wait for it', async () => {
  const { begun, ask, end } = tasksOn(queueOf({ runningMax: 8, siteRunningMax: 2 }).queue);
  const tasks = ['a/x/1', 'a/x/2', 'a/x/3', 'a/y/1', 'b/z/1'].map((name) => ask(name));
  await later();
  expect(begun).toEqual(['a/x/1', 'a/x/2', 'a/y/1', 'b/z/1']);
  await end('b/z/1');
  await end('a/y/1');
  expect(begun).toHaveLength(4);
  await end('a/x/1');
  expect(begun.at(-1)).toBe('a/x/3');
  for (const name of ['a/x/2', 'a/x/3']) await end(name);
  await Promise.all(tasks);
});

test.each([
  [1, 1],
  [2, 1],
  [3, 2],
  [4, 3],
  [5, 3],
  [8, 6],
])(
  'of %i running tasks a single team has at most %i, however many sites it asks about',
  async (most, ofTeam) => {
    const { begun, ask, endAll } = tasksOn(
      queueOf({ runningMax: most, teamWaitingMax: 15, waitingMax: 20 }).queue,
    );
    const tasks = ['v', 'w', 'x', 'y', 'z'].flatMap((site) => [ask(`a/${site}/1`), ask(`a/${site}/2`)]);
    await later();
    expect(begun).toHaveLength(ofTeam);
    // The rest is free for other teams; the last place is for a team without tasks.
    const others = Array.from({ length: most - ofTeam }, (_, index) => ask(`${index}/x/1`));
    await later();
    expect(begun).toHaveLength(most);
    await endAll();
    await Promise.all([...tasks, ...others]);
  },
);

test('long tasks have half of what may run, and a short one waits for short ones alone', async () => {
  const { begun, ask, end, endAll } = tasksOn(queueOf({ runningMax: 8, siteRunningMax: 4 }).queue);
  const long = (name: string) => ask(name, undefined, true);
  const tasks = ['a/x/1', 'a/x/2', 'a/x/3', 'a/y/1', 'a/z/1', 'b/x/1', 'c/x/1'].map(long);
  await later();
  // Limits: two of a site, three of a team, four in all.
  expect(begun).toEqual(['a/x/1', 'a/x/2', 'a/y/1', 'b/x/1']);
  tasks.push(ask('a/x/short-1'), ask('a/x/short-2'), ask('a/x/short-3'));
  await later();
  expect(begun.slice(4)).toEqual(['a/x/short-1', 'a/x/short-2']);
  // There is no room for the long one, so the third passes it although it has waited less.
  await end('a/x/short-1');
  expect(begun.at(-1)).toBe('a/x/short-3');
  await end('a/y/1');
  expect(begun.at(-1)).toBe('c/x/1');
  await endAll();
  await Promise.all(tasks);
  expect(begun).toHaveLength(10);
});

test('long tasks have half of what may wait, too, so that a short one is not rejected because of them', async () => {
  const { ask, endAll } = tasksOn(queueOf().queue);
  const long = (name: string) => ask(name, undefined, true);
  const tasks = [long('a/x/1'), long('a/x/2'), long('a/x/3')];
  await expect(long('a/x/4')).rejects.toMatchObject({
    reason: 'busy',
    message: expect.stringMatching(/long.* about this site/),
  });
  tasks.push(long('a/y/1'));
  await expect(long('a/y/2')).rejects.toMatchObject({
    reason: 'busy',
    message: expect.stringMatching(/long.* of this team/),
  });
  tasks.push(...['a/x/5', 'a/x/6'].map((name) => ask(name)));
  for (let round = 0; round < 10; round += 1) await endAll();
  await Promise.all(tasks);
});

test('where one task may run, it may be long', async () => {
  const { begun, ask, endAll } = tasksOn(queueOf({ runningMax: 1, siteRunningMax: 1 }).queue);
  const tasks = [ask('a/x/1', undefined, true), ask('a/x/2', undefined, true)];
  await endAll();
  await later();
  await endAll();
  await Promise.all(tasks);
  expect(begun).toHaveLength(2);
});

test('capacity goes round robin over teams, and over the sites of a team', async () => {
  const { begun, ask, end, endAll } = tasksOn(queueOf({ runningMax: 2, siteRunningMax: 1 }).queue);
  const tasks = ['a/x/1', 'b/x/1', 'a/x/2', 'a/x/3', 'a/x/4', 'a/y/1', 'b/x/2', 'b/x/3'].map((name) =>
    ask(name),
  );
  tasks.push(ask('c/x/1'));
  await later();
  expect(begun).toEqual(['a/x/1', 'b/x/1']);
  // Team c came last, and waits for one task of team a, not for all that team a sent earlier.
  await end('a/x/1');
  expect(begun.at(-1)).toBe('a/x/2');
  await end('a/x/2');
  expect(begun.at(-1)).toBe('c/x/1');
  await end('c/x/1');
  expect(begun.at(-1)).toBe('a/y/1');
  await endAll();
  await Promise.all(tasks);
  expect(begun.slice(5)).toEqual(['b/x/2', 'a/x/3', 'b/x/3', 'a/x/4']);
});

test('a full queue rejects at once, first the site and then the team that asks too much', async () => {
  const { queue, ended } = queueOf();
  const { ask, endAll } = tasksOn(queue);
  const busy = { reason: 'busy', status: 503 };
  const tasks = ['a/x/1', 'a/x/2', 'a/x/3', 'a/x/4', 'a/x/5', 'a/x/6'].map((name) => ask(name));
  await expect(ask('a/x/7')).rejects.toMatchObject({ ...busy, message: expect.stringContaining('site') });
  tasks.push(...['a/y/1', 'a/z/1'].map((name) => ask(name)));
  await expect(ask('a/w/1')).rejects.toMatchObject({ ...busy, message: expect.stringContaining('team') });
  tasks.push(...['b/x/1', 'b/x/2', 'c/x/1'].map((name) => ask(name)));
  await expect(ask('d/x/1')).rejects.toMatchObject(busy);
  expect([queue.running, queue.waiting, ended('full')]).toEqual([3, 8, 3]);
  await endAll();
  await Promise.all(tasks);
  expect([queue.running, queue.waiting, ended('done')]).toEqual([0, 0, 11]);
});

test('a task that waits too long is rejected, and the next one begins as if it had never come', async () => {
  const { queue, ended } = queueOf({ runningMax: 1 });
  const { begun, ask, end } = tasksOn(queue);
  const running = ask('a/x/1');
  const late = ask('b/x/1');
  const outcome = expect(late).rejects.toMatchObject({
    reason: 'waited',
    status: 503,
    message: expect.stringContaining('30 seconds'),
  });
  await vi.advanceTimersByTimeAsync(WAIT_MAX_MS - 1);
  const next = ask('c/x/1');
  expect([queue.waiting, ended('waited')]).toEqual([2, 0]);
  await vi.advanceTimersByTimeAsync(1);
  await outcome;
  expect([queue.waiting, ended('waited')]).toEqual([1, 1]);
  await end('a/x/1');
  expect(begun).toEqual(['a/x/1', 'c/x/1']);
  await end('c/x/1');
  await Promise.all([running, next]);
});

test('the deadline is of the whole request: waits add up, and those at the same time count once', async () => {
  const { queue } = queueOf({ runningMax: 2 });
  const { ask, end } = tasksOn(queue);
  const requester = new Requester('b');
  const running = ask('a/x/1');
  // The site's second task waits with the first one, the third only after both.
  const first = ask('b/x/1', requester);
  const second = ask('b/x/2', requester);
  const third = ask('b/x/3', requester);
  await vi.advanceTimersByTimeAsync(10_000);
  await end('b/x/1');
  await end('b/x/2');
  await end('b/x/3');
  expect(requester.waitedMs(performance.now())).toBe(10_000);
  // Nothing counts while none of them waits.
  await vi.advanceTimersByTimeAsync(60_000);
  const other = ask('b/y/1');
  const fourth = ask('b/x/4', requester);
  const outcome = expect(fourth).rejects.toMatchObject({ reason: 'waited' });
  await vi.advanceTimersByTimeAsync(19_999);
  expect(queue.waiting).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  await outcome;
  expect(queue.waiting).toBe(0);
  await expect(ask('b/x/5', requester)).rejects.toMatchObject({ reason: 'waited' });
  for (const name of ['a/x/1', 'b/y/1']) await end(name);
  await Promise.all([running, first, second, third, other]);
});

test('a request whose client has gone leaves the queue, and begins nothing more', async () => {
  const { queue, ended } = queueOf({ runningMax: 1 });
  const { begun, ask, end } = tasksOn(queue);
  const client = new AbortController();
  const requester = new Requester('b', { gone: client.signal });
  const running = ask('a/x/1');
  const gone = expect(ask('b/x/1', requester)).rejects.toMatchObject({ reason: 'left' });
  const next = ask('c/x/1');
  expect(queue.waiting).toBe(2);
  client.abort();
  await gone;
  expect([queue.waiting, ended('left')]).toEqual([1, 1]);
  await end('a/x/1');
  expect(begun).toEqual(['a/x/1', 'c/x/1']);
  await end('c/x/1');
  await expect(ask('b/x/2', requester)).rejects.toMatchObject({ reason: 'left' });
  expect([queue.running, ended('left')]).toEqual([0, 2]);
  await Promise.all([running, next]);
});

/** The permit of a task that begins immediately. */
const permitOn = (queue: FairQueue, team: string, site: StoredId): Promise<Permit> =>
  queue.acquire({ requester: new Requester(team, undefined, site), site });

test('a permit is wanted only while a task waits that could begin in its stead', async () => {
  const { queue } = queueOf({ runningMax: 5 });
  const ofA = await Promise.all(['x', 'y', 'z'].map((site) => permitOn(queue, 'a', storedId(site))));
  const ofB = await permitOn(queue, 'b', storedId('z'));
  const wanted = () => [...ofA, ofB].map(({ isWanted }) => isWanted);
  expect(wanted()).toEqual([false, false, false, false]);
  // The team is at its limit, so the other team's permit is of no use to it.
  const fourth = permitOn(queue, 'a', storedId('w'));
  expect(wanted()).toEqual([true, true, true, false]);
  const ofC = await permitOn(queue, 'c', storedId('u'));
  const other = permitOn(queue, 'd', storedId('u'));
  expect(wanted()).toEqual([true, true, true, true]);
  ofB.release('slow');
  ofB.release();
  (await other).release();
  ofA[1]?.release();
  expect(wanted()).toEqual([false, false, false, false]);
  (await fourth).release();
  for (const permit of [ofA[0], ofA[2], ofC]) permit?.release();
  expect([queue.running, queue.waiting]).toEqual([0, 0]);
});

test('a task that yields goes behind those that wait, has no deadline, and is not rejected by a full queue', async () => {
  const { queue, ended } = queueOf({ runningMax: 1, waitingMax: 2 });
  const long = await permitOn(queue, 'a', storedId('x'));
  await long.yield();
  expect(queue.running).toBe(1);
  const order: string[] = [];
  const shorts = ['b', 'c'].map(async (team) => {
    const permit = await permitOn(queue, team, storedId('x'));
    order.push(team);
    return permit;
  });
  expect(queue.waiting).toBe(2);
  const yielded = long.yield().then(() => order.push('a'));
  expect([queue.running, queue.waiting]).toEqual([1, 2]);
  const [ofB, ofC] = shorts;
  await later();
  expect(order).toEqual(['b']);
  await expect(permitOn(queue, 'd', storedId('x'))).rejects.toMatchObject({ reason: 'busy' });
  (await ofB)?.release();
  await ofC;
  await vi.advanceTimersByTimeAsync(10 * WAIT_MAX_MS);
  expect([order, queue.waiting]).toEqual([['b', 'c'], 1]);
  (await ofC)?.release();
  await yielded;
  expect(order).toEqual(['b', 'c', 'a']);
  long.release();
  expect([queue.running, queue.waiting, ended('done'), ended('full')]).toEqual([0, 0, 3, 1]);
});

test('a task whose client goes away while it has yielded ends there', async () => {
  const { queue, ended } = queueOf({ runningMax: 1 });
  const client = new AbortController();
  const long = await queue.acquire({
    requester: new Requester('a', { gone: client.signal }),
    site: storedId('x'),
  });
  const short = permitOn(queue, 'b', storedId('x'));
  const yielded = expect(long.yield()).rejects.toMatchObject({ reason: 'left' });
  await short;
  client.abort();
  await yielded;
  long.release();
  expect([queue.running, queue.waiting, ended('left'), ended('done')]).toEqual([1, 0, 1, 0]);
  (await short).release();
  expect(queue.running).toBe(0);
});

test('a task that fails releases its capacity', async () => {
  const { queue } = queueOf({ runningMax: 1 });
  const requester = new Requester('a');
  await expect(
    queue.run({ requester, site: storedId('x') }, () => Promise.reject(new Error('no'))),
  ).rejects.toThrow('no');
  expect(await queue.run({ requester, site: storedId('x') }, () => Promise.resolve(7))).toBe(7);
});

test('limits hold and every task runs, in whatever order tasks end, yield and leave', async () => {
  const seeded = new SeededRandom(7);
  const { queue, ended } = queueOf({
    runningMax: 4,
    waitingMax: 1_000,
    teamWaitingMax: 1_000,
    siteWaitingMax: 1_000,
  });
  const running = new Map<string, number>();
  const count = (key: string, by: number) => {
    const found = (running.get(key) ?? 0) + by;
    running.set(key, found);
    return found;
  };
  const begin = (team: string, site: StoredId, isLong: boolean) => {
    expect(count(site, 1)).toBeLessThanOrEqual(2);
    expect(count(team, 1)).toBeLessThanOrEqual(3);
    expect(count('all', 1)).toBeLessThanOrEqual(4);
    if (!isLong) return;
    expect(count(`${site} long`, 1)).toBeLessThanOrEqual(1);
    expect(count(`${team} long`, 1)).toBeLessThanOrEqual(1);
    expect(count('all long', 1)).toBeLessThanOrEqual(2);
  };
  const end = (team: string, site: StoredId, isLong: boolean) => {
    for (const key of [site, team, 'all']) {
      count(key, -1);
      if (isLong) count(`${key} long`, -1);
    }
  };
  let [done, left] = [0, 0];
  const all = Array.from({ length: 600 }, async () => {
    const site = seeded.one(['a/x', 'a/y', 'a/z', 'b/x', 'b/y', 'c/x']);
    const team = site.slice(0, 1);
    const client = new AbortController();
    const leaves = seeded.below(10) === 0;
    const yields = seeded.below(3);
    const isLong = seeded.chance(0.5);
    try {
      const acquired = queue.acquire({
        requester: new Requester(team, { gone: client.signal }),
        site: storedId(site),
        isLong,
      });
      if (leaves) client.abort();
      const permit = await acquired;
      begin(team, storedId(site), isLong);
      for (let part = 0; part <= yields; part += 1) {
        for (let wait = seeded.below(5); wait > 0; wait -= 1) await later();
        end(team, storedId(site), isLong);
        if (part < yields) await permit.yield();
        else permit.release();
        if (part < yields) begin(team, storedId(site), isLong);
      }
      done += 1;
    } catch (error) {
      expect(error).toMatchObject({ reason: 'left' });
      left += 1;
    }
  });
  await Promise.all(all);
  expect([done + left, queue.waiting, queue.running]).toEqual([600, 0, 0]);
  expect(left).toBeGreaterThan(10);
  expect(ended('done') + ended('left')).toBe(600);
});

test('its numbers are metrics', async () => {
  const { queue, metrics } = queueOf({ runningMax: 1 });
  const first = await permitOn(queue, 'a', storedId('x'));
  const second = permitOn(queue, 'b', storedId('x'));
  const text = metrics.expose();
  expect(text).toContain('query_queue_running{queue="q"} 1\n');
  expect(text).toContain('query_queue_waiting{queue="q"} 1\n');
  first.release('slow');
  (await second).release();
  expect(metrics.expose()).toContain('query_queue_ended_total{queue="q",reason="slow"} 1\n');
});
