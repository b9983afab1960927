import { expect, test } from 'vitest';
import { createSecret, hashSecret, SecretVerifier } from './client-auth.ts';

test('a secret is verified against its hash, the second time without waiting', async () => {
  const verifier = new SecretVerifier();
  const secret = createSecret();
  expect(secret).toMatch(/^sec_[0-9a-f]{40}$/);
  const client = { secretHash: await hashSecret(secret) };
  expect(client.secretHash).not.toContain(secret.slice(4));
  expect(await verifier.verify(client, secret)).toBe(true);
  expect(verifier.verify(client, secret)).toBe(true);
  const wrong = createSecret();
  expect(await verifier.verify(client, wrong)).toBe(false);
  expect(verifier.verify(client, wrong)).toBe(false);
});

test('a rotated secret stops working as soon as the record has changed', async () => {
  const verifier = new SecretVerifier();
  const [old, fresh] = [createSecret(), createSecret()];
  expect(await verifier.verify({ secretHash: await hashSecret(old) }, old)).toBe(true);
  expect(await verifier.verify({ secretHash: await hashSecret(fresh) }, old)).toBe(false);
});

test('a text without the form of a secret, and an unreadable hash, match nothing', async () => {
  const verifier = new SecretVerifier();
  expect(verifier.verify({ secretHash: '' }, 'sec_1')).toBe(false);
  expect(await verifier.verify({ secretHash: 'scrypt::' }, createSecret())).toBe(false);
});

test('simultaneous verifications of one secret share one computation', async () => {
  const verifier = new SecretVerifier();
  const secret = createSecret();
  const client = { secretHash: await hashSecret(secret) };
  const results = await Promise.all(Array.from({ length: 1_000 }, () => verifier.verify(client, secret)));
  expect(results.every(Boolean)).toBe(true);
});
