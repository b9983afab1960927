import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { RecentAnswers } from './recent-answers.ts';

const waiter = { answered: () => {} };
const answer = { deviceId: 'd', sessionId: 's' };

test('evicting a site leaves the answers of other sites alone', () => {
  const recent = new RecentAnswers(1_000);
  for (const site of ['shop', 'shop-2']) {
    expect(recent.begin(storedId(site), 'id', 0, waiter)).toBe('first');
    recent.end(storedId(site), 'id', 0, answer);
    expect(recent.begin(storedId(site), 'id', 1, waiter)).toMatchObject(answer);
  }
  recent.evictSite(storedId('shop'));
  expect(recent.begin(storedId('shop'), 'id', 2, waiter)).toBe('first');
  expect(recent.begin(storedId('shop-2'), 'id', 2, waiter)).toMatchObject(answer);
});

test('those that wait for the first event get its answer or its reject, and a reject frees the id', () => {
  const recent = new RecentAnswers(1_000);
  const reject = { reason: 'schema', status: 400, message: 'no' } as const;
  for (const result of [reject, answer]) {
    const results: unknown[] = [];
    expect(recent.begin(storedId('shop'), 'id', 0, waiter)).toBe('first');
    for (let count = 0; count < 2; count += 1)
      expect(recent.begin(storedId('shop'), 'id', 0, { answered: (given) => results.push(given) })).toBe(
        'waits',
      );
    recent.end(storedId('shop'), 'id', 0, result);
    expect(results).toEqual([result, result]);
  }
  expect(recent.begin(storedId('shop'), 'id', 1, waiter)).toMatchObject(answer);
});

test('a flood of event ids on one site leaves the answers of another site known', () => {
  const recent = new RecentAnswers(1_000);
  const take = (site: string, id: string) => {
    const known = recent.begin(storedId(site), id, 0, waiter);
    if (known === 'first') recent.end(storedId(site), id, 0, answer);
    return known;
  };
  expect(take('quiet', 'order')).toBe('first');
  for (let event = 0; event < 200_000; event += 1) take('flood', `event ${event}`);
  expect(take('quiet', 'order')).toMatchObject(answer);
  // The flooding site forgets its own first ids, and knows its last ones.
  expect(take('flood', 'event 199999')).toMatchObject(answer);
  expect(take('flood', 'event 0')).toBe('first');
});
