import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Client, clientSchema } from '../../infra/accounts/accounts.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { LiveTokens } from './live-tokens.ts';

const AT = '2026-01-01T00:00:00.000Z';
const NOW_MS = Date.parse('2026-03-01T12:00:00.000Z');
const SITE = { storedId: storedId('shop~2') };

function client(fields: Partial<Client> = {}): Client {
  return {
    ...clientSchema.parse({
      id: '0d3b9f0e-6d0c-4a3c-8a52-0a8d1a2b3c4d',
      name: 'reader',
      type: 'read',
      projectId: 'shop',
      teamId: 'team',
      createdAt: AT,
      updatedAt: AT,
      secretHash: 'hmac-sha256:one:hash',
    }),
    ...fields,
  };
}

/** Tokens of one client, with a record and a time that the test changes. */
function tokensOf(fields: Partial<Client> = {}, secretsKey = 'a'.repeat(64)) {
  const world: { nowMs: number; client: Client | undefined } = { nowMs: NOW_MS, client: client(fields) };
  const tokens = new LiveTokens({
    secretsKey,
    clock: { nowMs: () => world.nowMs },
    directory: { client: () => world.client },
  });
  return {
    world,
    tokens,
    issue: (ttlMs: number) => tokens.issue(SITE, client(fields), { ttlMs, isWhole: false }),
  };
}

test('a token is read back until it expires, by every process with the same key', () => {
  const { world, tokens, issue } = tokensOf();
  const { token, expiresAt } = issue(HOUR_MS);
  expect(expiresAt).toBe('2026-03-01T13:00:00.000Z');
  expect(tokensOf().tokens.read(token)).toMatchObject({ storedId: storedId('shop~2') });
  expect(tokensOf({}, 'b'.repeat(64)).tokens.read(token)).toBeUndefined();
  world.nowMs = NOW_MS + HOUR_MS - 1;
  expect(tokens.read(token)).toMatchObject({ expiresAtMs: NOW_MS + HOUR_MS });
  world.nowMs += 1;
  expect(tokens.read(token)).toBeUndefined();
});

test('a token shows the whole wall page only if it was made for that', () => {
  const { tokens, issue } = tokensOf();
  expect(tokens.read(issue(HOUR_MS).token)).toMatchObject({ isWhole: false });
  const { token } = tokens.issue(SITE, client(), { ttlMs: HOUR_MS, isWhole: true });
  expect(tokens.read(token)).toMatchObject({ isWhole: true, storedId: storedId('shop~2') });
});

test('a token ends no later than its client', () => {
  const expiresAt = new Date(NOW_MS + 1_000).toISOString();
  expect(tokensOf({ expiresAt }).issue(HOUR_MS).expiresAt).toBe(expiresAt);
});

test.each<[what: string, change: Client | undefined]>([
  ['is deleted', undefined],
  ['has another secret', client({ secretHash: 'hmac-sha256:two:hash' })],
  ['has expired', client({ expiresAt: new Date(NOW_MS).toISOString() })],
  ['may no longer ask', client({ scopes: ['track'] })],
])('a token ends when its client %s', (_what, change) => {
  const { world, tokens, issue } = tokensOf();
  const claims = tokens.read(issue(HOUR_MS).token);
  if (claims === undefined) throw new Error('not read');
  expect(tokens.isValid(claims)).toBe(true);
  world.client = change;
  expect(tokens.isValid(claims)).toBe(false);
  expect(tokens.read(issue(HOUR_MS).token)).toBeUndefined();
});

test('no other text is a token', () => {
  const { tokens, issue } = tokensOf();
  const { token } = issue(HOUR_MS);
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.string({ maxLength: 2 }), (at, text) => {
      const changed = token.slice(0, at) + text + token.slice(at + 1);
      // The last digit of a signature has unused bits.
      fc.pre(changed !== token && at < token.length - 1);
      expect(tokens.read(changed)).toBeUndefined();
    }),
  );
  fc.assert(fc.property(fc.string(), (text) => void expect(tokens.read(text)).toBeUndefined()));
});

test('without a key there are no tokens', () => {
  const { tokens, issue } = tokensOf({}, '');
  expect(() => issue(HOUR_MS)).toThrow('SECRETS_KEY');
  expect(tokens.read(tokensOf().issue(HOUR_MS).token)).toBeUndefined();
});
