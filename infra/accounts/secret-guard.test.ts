import { expect, test } from 'vitest';
import { ManualClock } from '../clock.ts';
import type { Client } from './accounts.ts';
import { createSecret, hashSecret, SecretVerifier } from './client-auth.ts';
import { SecretGuard, type SecretVerdict } from './secret-guard.ts';

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

/** A guard whose clock stands at the beginning of a window. */
function startGuard(): { guard: SecretGuard; clock: ManualClock } {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  return { guard: new SecretGuard(new SecretVerifier(), clock), clock };
}

type Kind = SecretVerdict['kind'];

async function verify(guard: SecretGuard, client: Client, secret: string, address: string): Promise<Kind> {
  return (await guard.verify(client, secret, address)).kind;
}

/** Tries this many wrong secrets, all at once; returns how often each verdict came. */
async function guess(
  guard: SecretGuard,
  client: Client,
  address: string,
  times: number,
): Promise<Partial<Record<Kind, number>>> {
  const tries = Array.from({ length: times }, () => verify(guard, client, createSecret(), address));
  const counts: Partial<Record<Kind, number>> = {};
  for (const kind of await Promise.all(tries)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

test('of wrong secrets that come at once, exactly as many are verified as the limit allows', async () => {
  const { guard, clock } = startGuard();
  const { client } = await makeClient('a');
  expect(await guess(guard, client, HERE, 300)).toEqual({ wrong: FAILURES_MAX, limited: 200 });
  clock.advance(WINDOW_MS - 1);
  expect(await guess(guard, client, HERE, 10)).toEqual({ limited: 10 });
  // The failures of the window before lose weight: a tenth of the window later, a tenth of the tries is back.
  clock.advance(1 + WINDOW_MS / 10 - 1);
  expect(await guess(guard, client, HERE, 20)).toEqual({ wrong: FAILURES_MAX / 10, limited: 10 });
  clock.advance(2 * WINDOW_MS);
  expect(await guess(guard, client, HERE, 300)).toEqual({ wrong: FAILURES_MAX, limited: 200 });
});

test('a right secret that waits behind too many wrong ones is not verified', async () => {
  const { guard } = startGuard();
  const { client, secret } = await makeClient('a');
  const guesses = guess(guard, client, HERE, FAILURES_MAX);
  const waiting = verify(guard, client, secret, HERE);
  expect(await guesses).toEqual({ wrong: FAILURES_MAX });
  expect(await waiting).toBe('limited');
});

test('a wrong secret that was counted shows what is left, and a limited one when to retry', async () => {
  const { guard } = startGuard();
  const { client } = await makeClient('a');
  expect(await guard.verify(client, createSecret(), HERE)).toEqual({
    kind: 'wrong',
    failures: { allowed: true, limit: FAILURES_MAX, remaining: FAILURES_MAX - 1, resetMs: WINDOW_MS },
  });
  await guess(guard, client, HERE, FAILURES_MAX - 1);
  expect(guard.verify(client, createSecret(), HERE)).toEqual({
    kind: 'limited',
    failures: { allowed: false, limit: FAILURES_MAX, remaining: 0, resetMs: WINDOW_MS },
  });
});

test('guesses from many addresses limit the client everywhere, and no other client', async () => {
  const { guard } = startGuard();
  const [{ client, secret }, other] = [await makeClient('a'), await makeClient('b')];
  for (let index = 0; index < FAILURES_MAX; index += 1) {
    expect(await verify(guard, client, createSecret(), `198.51.100.${index}`)).toBe('wrong');
  }
  expect(await verify(guard, client, createSecret(), HERE)).toBe('limited');
  // Nothing is verified any more, so the right secret is not found out either.
  expect(await verify(guard, client, secret, HERE)).toBe('limited');
  expect(await verify(guard, other.client, other.secret, HERE)).toBe('right');
});

test('guesses at many clients limit the address for all clients, and no other address', async () => {
  const { guard } = startGuard();
  const made = await Promise.all(Array.from({ length: 5 }, (_, index) => makeClient(`client-${index}`)));
  for (const { client } of made) await guess(guard, client, HERE, FAILURES_MAX / made.length);
  const { client, secret } = await makeClient('another');
  expect(await verify(guard, client, secret, HERE)).toBe('limited');
  expect(await verify(guard, client, secret, ELSEWHERE)).toBe('right');
});

test('requests without a client or a secret count against the address, and against the client that they name', async () => {
  const { guard } = startGuard();
  const { client, secret } = await makeClient('a');
  for (let times = 0; times < FAILURES_MAX; times += 1)
    expect(guard.countFailure(undefined, HERE).kind).toBe('wrong');
  expect(guard.countFailure(undefined, HERE).kind).toBe('limited');
  expect(await verify(guard, client, secret, HERE)).toBe('limited');
  for (let times = 0; times < FAILURES_MAX; times += 1) guard.countFailure(client, `198.51.100.${times}`);
  expect(guard.countFailure(client, ELSEWHERE).kind).toBe('limited');
  expect(await verify(guard, client, secret, ELSEWHERE)).toBe('limited');
});

test('a known secret is answered at once, however often others fail', async () => {
  const { guard } = startGuard();
  const { client, secret } = await makeClient('a');
  const wrong = createSecret();
  expect(await verify(guard, client, secret, HERE)).toBe('right');
  expect(await verify(guard, client, wrong, HERE)).toBe('wrong');
  await guess(guard, client, HERE, FAILURES_MAX);
  expect(guard.verify(client, secret, HERE)).toEqual({ kind: 'right' });
  expect(guard.verify(client, wrong, HERE)).toEqual({ kind: 'wrong', failures: undefined });
});

test('neither a known wrong secret nor a text that is no secret is counted', async () => {
  const { guard } = startGuard();
  const { client, secret } = await makeClient('a');
  const stale = createSecret();
  for (let times = 0; times < 2 * FAILURES_MAX; times += 1) {
    expect(await verify(guard, client, stale, HERE)).toBe('wrong');
    expect(guard.verify(client, 'undefined', HERE)).toEqual({ kind: 'wrong', failures: undefined });
  }
  expect(await verify(guard, client, secret, HERE)).toBe('right');
});

test('one wrong secret in many requests at once is one failure', async () => {
  const { guard } = startGuard();
  const { client, secret } = await makeClient('a');
  const wrong = createSecret();
  const sent = Array.from({ length: 2 * FAILURES_MAX }, () => verify(guard, client, wrong, HERE));
  expect(new Set(await Promise.all(sent))).toEqual(new Set(['wrong']));
  expect(await verify(guard, client, secret, HERE)).toBe('right');
});

test('right secrets are no failures, however many are new at once', async () => {
  const { guard } = startGuard();
  const made = await Promise.all(
    Array.from({ length: FAILURES_MAX + 20 }, (_, index) => makeClient(`client-${index}`)),
  );
  const verified = made.map(({ client, secret }) => verify(guard, client, secret, HERE));
  expect(new Set(await Promise.all(verified))).toEqual(new Set(['right']));
});

test('when too many secrets wait to be verified, the verdict is busy and not wrong', async () => {
  const { guard } = startGuard();
  const { client } = await makeClient('a');
  expect(await guess(guard, client, HERE, 600)).toEqual({ wrong: FAILURES_MAX, limited: 400, busy: 100 });
});
