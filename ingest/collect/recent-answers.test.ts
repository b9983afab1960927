import { expect, test } from 'vitest';
import { RecentAnswers } from './recent-answers.ts';

const waiter = { answered: () => {} };
const answer = { deviceId: 'd', sessionId: 's' };

test('evicting a site leaves the answers of other sites alone', () => {
  const recent = new RecentAnswers();
  for (const site of ['shop', 'shop-2']) {
    expect(recent.begin(site, 'id', 0, waiter)).toBe('first');
    recent.end(site, 'id', 0, answer);
    expect(recent.begin(site, 'id', 1, waiter)).toMatchObject(answer);
  }
  recent.evictSite('shop');
  expect(recent.begin('shop', 'id', 2, waiter)).toBe('first');
  expect(recent.begin('shop-2', 'id', 2, waiter)).toMatchObject(answer);
});
