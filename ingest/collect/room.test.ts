import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Room } from './room.ts';

let queued: number;
let room: Room;

beforeEach(() => {
  vi.useFakeTimers();
  queued = 3;
  room = new Room(() => queued > 1);
});

afterEach(() => {
  vi.useRealTimers();
});

function leave(): void {
  queued -= 1;
  room.check();
}

/** The results of the waits that are over. */
function waits(count: number): boolean[] {
  const over: boolean[] = [];
  for (let wait = 0; wait < count; wait += 1) void room.wait().then((hasRoom) => over.push(hasRoom));
  return over;
}

test('all requests wait until there is room', async () => {
  const over = waits(2);
  leave();
  await vi.advanceTimersByTimeAsync(0);
  expect(over).toEqual([]);
  leave();
  await vi.advanceTimersByTimeAsync(0);
  expect(over).toEqual([true, true]);
  expect(vi.getTimerCount()).toBe(0);
});

test('with room, a request continues immediately', async () => {
  queued = 1;
  expect(room.isCrowded).toBe(false);
  await expect(room.wait()).resolves.toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test('waiting requests continue when nothing leaves for a second, but not while something does', async () => {
  queued = 10;
  const over = waits(2);
  for (let seconds = 0; seconds < 3; seconds += 1) {
    await vi.advanceTimersByTimeAsync(900);
    leave();
  }
  expect(over).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(over).toEqual([false, false]);
});

test('while small requests come, large ones rest after a large message for as long as it took', async () => {
  queued = 1;
  room.noteSmall();
  room.confirmed(20);
  expect(room.isCrowded).toBe(true);
  const over = waits(2);
  await vi.advanceTimersByTimeAsync(19);
  room.check();
  await vi.advanceTimersByTimeAsync(0);
  expect(over).toEqual([]);
  await vi.advanceTimersByTimeAsync(2);
  expect(over).toEqual([true, true]);
  expect(room.isCrowded).toBe(false);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(vi.getTimerCount()).toBe(0);
});

test('a rest that begins while large requests wait for room is kept, and has an end', async () => {
  room.noteSmall();
  const over = waits(1);
  room.confirmed(5_000);
  leave();
  leave();
  await vi.advanceTimersByTimeAsync(99);
  expect(over).toEqual([]);
  await vi.advanceTimersByTimeAsync(2);
  expect(over).toEqual([true]);
});

test('a second after the last small request, large ones no longer rest', async () => {
  queued = 1;
  room.noteSmall();
  await vi.advanceTimersByTimeAsync(1_001);
  room.confirmed(20);
  expect(room.isCrowded).toBe(false);
  await expect(room.wait()).resolves.toBe(true);
});
