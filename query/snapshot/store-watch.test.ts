import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../infra/clock.ts';
import { StoreWatch } from './store-watch.ts';

const FOR_EVER_MS = 3_000;
/** Longer than a ping may take. */
const LATE_MS = 900;
const NOTICED_MAX_MS = 2_000;

let watches: StoreWatch[] = [];

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  for (const watch of watches) watch.stop();
  watches = [];
  vi.useRealTimers();
});

type PingAnswer = 'yes' | 'no' | 'late' | 'silence';

/** A store with changeable answers to pings and credentials. Every ping takes the next one from `next`. */
class Pinged {
  answer: PingAnswer = 'yes';
  areCredentialsRejected = false;
  next: PingAnswer[] = [];
  pings = 0;

  async responds(): Promise<boolean> {
    this.pings += 1;
    const answer = this.next.shift() ?? this.answer;
    if (answer === 'late') await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    if (answer === 'silence') await new Promise((resolve) => setTimeout(resolve, FOR_EVER_MS));
    return answer === 'yes' || answer === 'late';
  }

  async rejectsUs(): Promise<boolean> {
    return this.areCredentialsRejected;
  }
}

async function watchOf(store: Pinged): Promise<StoreWatch> {
  const watch = await StoreWatch.start(store, systemClock);
  watches.push(watch);
  return watch;
}

test('a store that rejects connections twice in a row is away at once, and up again at once', async () => {
  const store = new Pinged();
  const watch = await watchOf(store);
  expect(watch.dependency.up).toBe(true);
  store.next = ['no', 'yes'];
  await vi.advanceTimersByTimeAsync(1_000);
  expect([store.next, watch.dependency.up, watch.away.aborted]).toEqual([[], true, false]);
  store.answer = 'no';
  await vi.advanceTimersByTimeAsync(500);
  expect([watch.dependency.up, watch.away.aborted]).toEqual([false, true]);
  store.answer = 'yes';
  await vi.advanceTimersByTimeAsync(500);
  expect([watch.dependency.up, watch.away.aborted]).toEqual([true, false]);
});

test('a store that stays silent is doubted first, away within two seconds, and up with its next answer', async () => {
  const store = new Pinged();
  const watch = await watchOf(store);
  const { away } = watch;
  const doubt = watch.doubted();
  await vi.advanceTimersByTimeAsync(10_000);
  expect([doubt.aborted, watch.dependency.up]).toEqual([false, true]);
  store.answer = 'silence';
  const order: string[] = [];
  doubt.addEventListener('abort', () => order.push('doubted'));
  away.addEventListener('abort', () => order.push('away'));
  await vi.advanceTimersByTimeAsync(NOTICED_MAX_MS);
  expect([order, watch.dependency.up]).toEqual([['doubted', 'away'], false]);
  expect(watch.doubted().aborted).toBe(true);
  store.answer = 'yes';
  await vi.advanceTimersByTimeAsync(1_000);
  expect([watch.dependency.up, watch.away.aborted, watch.doubted().aborted]).toEqual([true, false, false]);
});

test('without questions the store is pinged rarely, and the next question pings at once', async () => {
  const store = new Pinged();
  const watch = await watchOf(store);
  expect(watch.away.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(20_000);
  const before = store.pings;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(store.pings - before).toBeLessThan(6);
  store.answer = 'silence';
  const asked = store.pings;
  const { away } = watch;
  expect(store.pings).toBe(asked + 1);
  await vi.advanceTimersByTimeAsync(NOTICED_MAX_MS);
  expect([away.aborted, watch.dependency.up]).toEqual([true, false]);
});

test('a store that misses every second ping is busy, and not away', async () => {
  const store = new Pinged();
  const watch = await watchOf(store);
  store.next = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? 'silence' : 'yes'));
  for (let half = 0; half < 100; half += 1) {
    await vi.advanceTimersByTimeAsync(500);
    // Questions keep asking.
    expect([watch.dependency.up, watch.away.aborted]).toEqual([true, false]);
  }
  expect(store.next).toEqual([]);
});

test('a store that answers every ping late is busy, and not away', async () => {
  const store = new Pinged();
  const watch = await watchOf(store);
  store.answer = 'late';
  for (let half = 0; half < 100; half += 1) {
    await vi.advanceTimersByTimeAsync(500);
    // Questions keep asking.
    expect([watch.dependency.up, watch.away.aborted]).toEqual([true, false]);
  }
  expect(store.pings).toBeGreaterThan(10);
});

test('a question that can do without the store pings it, so that it need not wait for the next ping', async () => {
  const store = new Pinged();
  const watch = await watchOf(store);
  await vi.advanceTimersByTimeAsync(10);
  const before = store.pings;
  store.answer = 'silence';
  const doubt = watch.doubted();
  expect(store.pings).toBe(before + 1);
  // Well before the watch's own next ping.
  await vi.advanceTimersByTimeAsync(300);
  expect([doubt.aborted, watch.dependency.up]).toEqual([true, true]);
});

test('a store that rejects the credentials is away until it accepts them', async () => {
  const store = new Pinged();
  store.areCredentialsRejected = true;
  const watch = await watchOf(store);
  expect(watch.dependency.up).toBe(false);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(watch.dependency.up).toBe(false);
  store.areCredentialsRejected = false;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(watch.dependency.up).toBe(true);
});
