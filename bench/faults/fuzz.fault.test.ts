import { test } from 'vitest';
import { expectToBearBadRequests } from './bad-requests.ts';

// A sample of `fuzz.long.test.ts`.
const REQUESTS = 12_000;

test('bodies that no client should send: no 5xx, no crash, no growth, and the next visitor counts', async () => {
  await expectToBearBadRequests(REQUESTS);
});
