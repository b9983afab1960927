import { expect, test } from 'vitest';
import { Metrics } from '../metrics.ts';
import {
  BODY_TIME_MAX_MS,
  type BodyLoss,
  type HeldBody,
  OPEN_BODY_MIN_BYTES,
  OpenBodies,
} from './open-bodies.ts';

const KIB = 1_024;

class TestBody implements HeldBody {
  readonly owner: string;
  loss: BodyLoss | undefined;

  constructor(owner: string) {
    this.owner = owner;
  }

  giveUp(loss: BodyLoss): void {
    this.loss = loss;
  }
}

function opened(options: { readonly nowMs?: () => number; readonly metrics?: Metrics } = {}): OpenBodies {
  return new OpenBodies({ maxBytes: { proven: 1_024 * KIB, stranger: 256 * KIB }, ...options });
}

test('a full memory takes the oldest body of the owner who has the most, and leaves the others', () => {
  const bodies = opened();
  const small = new TestBody('small');
  const flood = Array.from({ length: 4 }, () => new TestBody('flood'));
  expect(bodies.hold(small, 'stranger', 40 * KIB)).toBe(true);
  for (const body of flood) expect(bodies.hold(body, 'stranger', 60 * KIB)).toBe(true);
  expect(flood.map(({ loss }) => loss)).toEqual(['no-room', undefined, undefined, undefined]);
  expect(bodies.hold(new TestBody('newcomer'), 'stranger', 50 * KIB)).toBe(true);
  expect([small.loss, flood[1]?.loss]).toEqual([undefined, 'no-room']);
  expect(bodies.bytesOf('stranger')).toBe((40 + 2 * 60 + 50) * KIB);
});

test('a body that has no room itself is given up, and says so', () => {
  const bodies = opened();
  const body = new TestBody('a');
  expect(bodies.hold(body, 'stranger', 100 * KIB)).toBe(true);
  expect(bodies.hold(body, 'stranger', 300 * KIB)).toBe(false);
  expect([body.loss, bodies.bytesOf('stranger')]).toEqual(['no-room', 0]);
});

test('what strangers hold takes nothing from clients that proved themselves, and the other way around', () => {
  const bodies = opened();
  const stranger = new TestBody('stranger');
  const client = new TestBody('client');
  bodies.hold(stranger, 'stranger', 256 * KIB);
  bodies.hold(client, 'proven', 1_024 * KIB);
  bodies.hold(new TestBody('other'), 'proven', 1_000 * KIB);
  bodies.hold(new TestBody('other'), 'proven', 1_000 * KIB);
  expect([stranger.loss, client.loss]).toEqual([undefined, 'no-room']);
});

test('a body that is being answered keeps its bytes until it is released', () => {
  const bodies = opened();
  const answered = new TestBody('a');
  bodies.hold(answered, 'stranger', 200 * KIB);
  bodies.complete(answered);
  const next = new TestBody('b');
  expect(bodies.hold(next, 'stranger', 100 * KIB)).toBe(false);
  expect([answered.loss, next.loss]).toEqual([undefined, 'no-room']);
  bodies.release(answered);
  expect(bodies.bytesOf('stranger')).toBe(0);
  expect(bodies.hold(new TestBody('b'), 'stranger', 100 * KIB)).toBe(true);
});

test('a proven sender has the room of a client from then on', () => {
  const bodies = opened();
  const body = new TestBody('a');
  bodies.hold(body, 'stranger', 100 * KIB);
  expect(bodies.prove(body)).toBe(true);
  expect([bodies.bytesOf('stranger'), bodies.bytesOf('proven')]).toEqual([0, 100 * KIB]);
  bodies.release(body);
  expect(bodies.bytesOf('proven')).toBe(0);
});

test('the number of open bodies is bounded, however small they are', () => {
  const bodies = opened();
  const all = Array.from({ length: 100 }, (_, index) => new TestBody(`owner ${index}`));
  for (const body of all) bodies.hold(body, 'stranger', 1);
  expect(all.filter(({ loss }) => loss === undefined)).toHaveLength((256 * KIB) / OPEN_BODY_MIN_BYTES);
});

test('a body that drips is given up after its time, and one that is being answered is not', () => {
  let nowMs = 0;
  const metrics = new Metrics();
  const bodies = opened({ nowMs: () => nowMs, metrics });
  const [drip, answered, later] = ['drip', 'answered', 'later'].map((owner) => new TestBody(owner)) as [
    TestBody,
    TestBody,
    TestBody,
  ];
  for (const body of [drip, answered]) bodies.hold(body, 'stranger', 10);
  bodies.complete(answered);
  nowMs = BODY_TIME_MAX_MS - 1;
  bodies.hold(later, 'stranger', 10);
  // Another byte does not extend the time.
  bodies.hold(drip, 'stranger', 20_000);
  bodies.sweep();
  expect(drip.loss).toBeUndefined();
  nowMs = BODY_TIME_MAX_MS;
  bodies.sweep();
  expect([drip.loss, answered.loss, later.loss]).toEqual(['slow', undefined, undefined]);
  expect(metrics.expose()).toContain('http_bodies_lost_total{reason="slow"} 1\n');
});
