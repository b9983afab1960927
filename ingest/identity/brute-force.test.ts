import { expect, test } from 'vitest';
import type { Client } from '../../infra/accounts/accounts.ts';
import { createSecret, hashSecret, SecretVerifier } from '../../infra/accounts/client-auth.ts';
import { ManualClock } from '../../infra/clock.ts';
import { GuardedVerifier, type Verified } from './brute-force.ts';

const FAILURES_MAX = 100;
const WINDOW_MS = 10_000;
const HERE = '203.0.113.1';
const ELSEWHERE = '203.0.113.2';

async function makeClient(id: string): Promise<{ client: Client; secret: string }> {
  const secret = createSecret();
  const at = '2024-01-01T00:00:00.000Z';
  const secretHash = await hashSecret(secret);
  const client: Client = {
    id,
    name: id,
    type: 'write',
    projectId: 'shop',
    teamId: 'team',
    createdAt: at,
    updatedAt: at,
    secretHash,
  };
  return { client, secret };
}

function guard(): { verifier: GuardedVerifier; clock: ManualClock } {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  return { verifier: new GuardedVerifier(new SecretVerifier(), clock), clock };
}

/** Status of a refusal; otherwise whether the secret was right. */
function outcomeOf(verified: Verified): boolean | number {
  return typeof verified === 'boolean' ? verified : verified.status;
}

/** Tries so many secrets that are wrong, all at once; gives how often each outcome came. */
async function guess(
  verifier: GuardedVerifier,
  client: Client,
  address: string,
  times: number,
): Promise<Record<string, number>> {
  const tries = Array.from({ length: times }, () => verifier.verify(client, createSecret(), address));
  const outcomes: Record<string, number> = {};
  for (const verified of await Promise.all(tries)) {
    const name = String(outcomeOf(verified));
    outcomes[name] = (outcomes[name] ?? 0) + 1;
  }
  return outcomes;
}

test('of wrong secrets that come all at once exactly so many are verified as the window allows', async () => {
  const { verifier, clock } = guard();
  const { client } = await makeClient('a');
  expect(await guess(verifier, client, HERE, 300)).toEqual({ false: FAILURES_MAX, 429: 200 });
  clock.advance(WINDOW_MS - 1);
  expect(await guess(verifier, client, HERE, 10)).toEqual({ 429: 10 });
  clock.advance(1);
  expect(await guess(verifier, client, HERE, 300)).toEqual({ false: FAILURES_MAX, 429: 200 });
});

test('a client that is guessed at from many addresses is spent for all, and no other client is', async () => {
  const { verifier } = guard();
  const [{ client, secret }, other] = [await makeClient('a'), await makeClient('b')];
  for (let index = 0; index < FAILURES_MAX; index += 1) {
    expect(await verifier.verify(client, createSecret(), `198.51.100.${index}`)).toBe(false);
  }
  expect(outcomeOf(await verifier.verify(client, createSecret(), HERE))).toBe(429);
  // The right one is not found out either: nothing is verified.
  expect(outcomeOf(await verifier.verify(client, secret, HERE))).toBe(429);
  expect(await verifier.verify(other.client, other.secret, HERE)).toBe(true);
});

test('an address that guesses at many clients is spent for all of them, and no other address is', async () => {
  const { verifier } = guard();
  const made = await Promise.all(Array.from({ length: 5 }, (_, index) => makeClient(`client-${index}`)));
  for (const { client } of made) await guess(verifier, client, HERE, FAILURES_MAX / made.length);
  const { client, secret } = await makeClient('another');
  expect(outcomeOf(await verifier.verify(client, secret, HERE))).toBe(429);
  expect(await verifier.verify(client, secret, ELSEWHERE)).toBe(true);
});

test('a secret that is known is answered at once, however often others fail', async () => {
  const { verifier } = guard();
  const { client, secret } = await makeClient('a');
  const wrong = createSecret();
  expect(await verifier.verify(client, secret, HERE)).toBe(true);
  expect(await verifier.verify(client, wrong, HERE)).toBe(false);
  await guess(verifier, client, HERE, FAILURES_MAX);
  expect(verifier.verify(client, secret, HERE)).toBe(true);
  expect(verifier.verify(client, wrong, HERE)).toBe(false);
});

test('neither a secret that is known to be wrong nor one without the form of a secret counts', async () => {
  const { verifier } = guard();
  const { client, secret } = await makeClient('a');
  const stale = createSecret();
  for (let times = 0; times < 2 * FAILURES_MAX; times += 1) {
    expect(await verifier.verify(client, stale, HERE)).toBe(false);
    expect(verifier.verify(client, 'undefined', HERE)).toBe(false);
  }
  expect(await verifier.verify(client, secret, HERE)).toBe(true);
});

test('one wrong secret that many send at once is one failure', async () => {
  const { verifier } = guard();
  const { client, secret } = await makeClient('a');
  const wrong = createSecret();
  const sent = Array.from({ length: 2 * FAILURES_MAX }, () => verifier.verify(client, wrong, HERE));
  expect(new Set(await Promise.all(sent))).toEqual(new Set([false]));
  expect(await verifier.verify(client, secret, HERE)).toBe(true);
});

test('right secrets are no failures, however many are new at once', async () => {
  const { verifier } = guard();
  const made = await Promise.all(
    Array.from({ length: FAILURES_MAX + 20 }, (_, index) => makeClient(`client-${index}`)),
  );
  const verified = made.map(({ client, secret }) => verifier.verify(client, secret, HERE));
  expect(new Set(await Promise.all(verified))).toEqual(new Set([true]));
});

test('more secrets than can wait are refused as busy, not as wrong', async () => {
  const { verifier } = guard();
  const { client } = await makeClient('a');
  expect(await guess(verifier, client, HERE, 600)).toEqual({ false: FAILURES_MAX, 429: 400, 503: 100 });
});
