import { expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import type { SetAside } from '../fold/set-aside.ts';
import { nextSetAside, retainedSetAside, setAsideWithEnds } from './set-aside.ts';
import type { SiteFailure } from './worker-tasks.ts';

function failureAt(sequence: number, more: Partial<SiteFailure> = {}): SiteFailure {
  return {
    projectId: storedId('shop'),
    sequence,
    isInSession: false,
    reason: 'RangeError: too large',
    ...more,
  };
}

test('an event that cannot be folded sets aside what its site has in that message', () => {
  const entry = nextSetAside([], { failure: failureAt(17), cutSequence: 12, clockMs: 5 });
  expect(entry).toEqual({
    projectId: storedId('shop'),
    first: 17,
    last: 17,
    reason: 'RangeError: too large',
    atMs: 5,
  });
});

test('a session that cannot be encoded sets aside what its site sent since the last flush, and nothing of that flush', () => {
  const failure = failureAt(17, { isInSession: true });
  expect(nextSetAside([], { failure, cutSequence: 12, clockMs: 5 })).toMatchObject({ first: 13, last: 17 });
});

test('a site that continues to fail is set aside for longer and longer', () => {
  const known: SetAside[] = [];
  const lengths = [];
  let sequence = 1;
  for (let failures = 0; failures < 5; failures += 1) {
    const at = { failure: failureAt(sequence), cutSequence: 0, clockMs: 0 };
    const entry = must(nextSetAside(known, at), 'an entry');
    known.push(entry);
    lengths.push(entry.last - entry.first + 1);
    sequence = entry.last + 1;
  }
  expect(lengths).toEqual([1, 100, 10_000, 1_000_000, 1_000_000]);
  const other = failureAt(sequence, { projectId: storedId('other') });
  expect(nextSetAside(known, { failure: other, cutSequence: 0, clockMs: 0 })?.last).toBe(sequence);
});

test('a failure that no message of the site can have caused is not set aside', () => {
  const failure = failureAt(17, { isInSession: true });
  const at = { failure, cutSequence: 12, clockMs: 0 };
  const entry = must(nextSetAside([], at), 'an entry');
  expect(nextSetAside([entry], at)).toBeUndefined();
});

test('the list of a lane is bounded', () => {
  const known = Array.from({ length: 64 }, (_, index) =>
    must(
      nextSetAside([], {
        failure: failureAt(index + 1, { projectId: storedId(`s${index}`) }),
        cutSequence: 0,
        clockMs: 0,
      }),
      'an entry',
    ),
  );
  expect(nextSetAside(known, { failure: failureAt(100), cutSequence: 0, clockMs: 0 })).toBeUndefined();
});

test('an entry is forgotten an hour later, once its messages are in the store', () => {
  const entry = { projectId: storedId('shop'), first: 5, last: 10, reason: '', atMs: HOUR_MS };
  expect(retainedSetAside([entry], { sequence: 9, clockMs: 9 * HOUR_MS })).toEqual([entry]);
  expect(retainedSetAside([entry], { sequence: 10, clockMs: 2 * HOUR_MS })).toEqual([entry]);
  expect(retainedSetAside([entry], { sequence: 10, clockMs: 2 * HOUR_MS + 1 })).toEqual([]);
});

test('ends of sessions are left out only where all that the site sent is left out already, and once', () => {
  const failure = failureAt(17, { isInSession: true });
  expect(setAsideWithEnds([], failure)).toBeUndefined();
  const entry = must(nextSetAside([], { failure, cutSequence: 12, clockMs: 0 }), 'an entry');
  const withEnds = must(setAsideWithEnds([entry], failure), 'an entry');
  expect(withEnds).toEqual({ ...entry, withoutEnds: true });
  expect(setAsideWithEnds([entry, withEnds], failure)).toBeUndefined();
});
