import { expect, test } from 'vitest';
import { createSecret, hashSecret, SecretVerifier } from './client-auth.ts';

test('a secret is verified against its hash, at once from the second time on', async () => {
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

test('a rotated secret stops working in the instant in which the record changed', async () => {
  const verifier = new SecretVerifier();
  const [old, fresh] = [createSecret(), createSecret()];
  expect(await verifier.verify({ secretHash: await hashSecret(old) }, old)).toBe(true);
  expect(await verifier.verify({ secretHash: await hashSecret(fresh) }, old)).toBe(false);
});

test('what is no secret, and a hash that cannot be read, match nothing', async () => {
  const verifier = new SecretVerifier();
  expect(verifier.verify({ secretHash: '' }, 'sec_1')).toBe(false);
  expect(await verifier.verify({ secretHash: 'scrypt::' }, createSecret())).toBe(false);
});

test('verifications of one secret at the same time share one computation', async () => {
  const verifier = new SecretVerifier();
  const secret = createSecret();
  const client = { secretHash: await hashSecret(secret) };
  const results = await Promise.all(Array.from({ length: 1_000 }, () => verifier.verify(client, secret)));
  expect(results.every(Boolean)).toBe(true);
});
