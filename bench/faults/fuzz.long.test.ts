import { test } from 'vitest';
import { expectToBearBadRequests } from './bad-requests.ts';

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 100_000);

test('many bodies that no client should send: no 5xx, no crash, no growth, and the next visitor counts', async () => {
  await expectToBearBadRequests(REQUESTS);
}, 600_000);
