import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSecret, hashSecret, isSameSecret, isSecret, matchesSecret } from './client-auth.ts';

test('a secret matches its hash, which does not contain it', () => {
  const secret = createSecret();
  expect(secret).toMatch(/^sec_[0-9a-f]{40}$/);
  expect(isSecret(secret)).toBe(true);
  const secretHash = hashSecret(secret);
  expect(secretHash).toMatch(/^hmac-sha256:[0-9a-f]{64}:[0-9a-f]{64}$/);
  expect(secretHash).not.toContain(secret.slice(4));
  expect(matchesSecret(secretHash, secret)).toBe(true);
  expect(matchesSecret(secretHash, createSecret())).toBe(false);
  expect(matchesSecret(secretHash, secret.toUpperCase())).toBe(false);
  expect(matchesSecret(secretHash, `${secret} `)).toBe(false);
});

test('two hashes of one secret have nothing in common', () => {
  const secret = createSecret();
  const [one, other] = [hashSecret(secret).split(':'), hashSecret(secret).split(':')];
  expect(one[1]).not.toBe(other[1]);
  expect(one[2]).not.toBe(other[2]);
});

test('what is no hash or no secret matches nothing', () => {
  expect(matchesSecret('', '')).toBe(false);
  expect(matchesSecret(hashSecret(''), '')).toBe(false);
  fc.assert(fc.property(fc.string(), (text) => !matchesSecret(text, createSecret())));
  fc.assert(fc.property(fc.string(), (text) => !matchesSecret(hashSecret(createSecret()), text)));
});

test('only a secret itself is the same secret', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => isSameSecret(one, other) === (one === other)),
  );
  fc.assert(fc.property(fc.string(), (text) => isSameSecret(text, text)));
});
