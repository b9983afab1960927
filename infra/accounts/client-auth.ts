import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { RequestHead } from '../http/http.ts';

/** CONTRACT of everything that authenticates clients: the headers, the secret, and the stored form of the secret. */

const SECRET_PATTERN = /^sec_[0-9a-f]{40}$/;
const HASH_KIND = 'hmac-sha256';
const KEY_BYTES = 32;
const HASH_PATTERN = /^hmac-sha256:([0-9a-f]{64}):([0-9a-f]{64})$/;

/** Headers of a request about its client. Texts; empty when absent. */
export interface ClientHeaders {
  readonly clientId: string;
  readonly clientSecret: string;
  /** The visitor's address as the client claims it. */
  readonly clientAddress: string;
  readonly sdkName: string;
  readonly sdkVersion: string;
}

const HEADER_NAMES = ['client-id', 'client-secret', 'client-ip', 'sdk-name', 'sdk-version'] as const;
const FAMILIES = ['service-', 'openpanel-'] as const;

/** Every client header in lower case, for the headers that a browser is allowed to send. */
export const CLIENT_HEADER_NAMES: readonly string[] = FAMILIES.flatMap((family) =>
  HEADER_NAMES.map((name) => family + name),
);

/** Reads the client headers. Each may come from either family; `service-` takes precedence over `openpanel-`. */
export function readClientHeaders(head: RequestHead): ClientHeaders {
  return {
    clientId: head.header('service-client-id') || head.header('openpanel-client-id'),
    clientSecret: head.header('service-client-secret') || head.header('openpanel-client-secret'),
    clientAddress: head.header('service-client-ip') || head.header('openpanel-client-ip'),
    sdkName: head.header('service-sdk-name') || head.header('openpanel-sdk-name'),
    sdkVersion: head.header('service-sdk-version') || head.header('openpanel-sdk-version'),
  };
}

/** Creates a secret. It is shown once and never stored. */
export function createSecret(): string {
  return `sec_${randomBytes(20).toString('hex')}`;
}

/**
 * The form in which a secret is stored: `hmac-sha256:<key>:<hash>`, both hexadecimal, with a random key of its own. A secret
 * has 160 random bits and cannot be found by trying, so a slow hash would protect nothing.
 */
export function hashSecret(secret: string): string {
  const key = randomBytes(KEY_BYTES).toString('hex');
  return `${HASH_KIND}:${key}:${keyedHash(key, secret).toString('hex')}`;
}

/** True if a text can be a secret at all. */
export function isSecret(text: string): boolean {
  return SECRET_PATTERN.test(text);
}

/** True if `hashSecret` made this hash of the secret. Any other hash matches nothing. Takes microseconds. */
export function matchesSecret(secretHash: string, secret: string): boolean {
  const [, key, hash] = HASH_PATTERN.exec(secretHash) ?? [];
  if (key === undefined || hash === undefined || !isSecret(secret)) return false;
  return timingSafeEqual(Buffer.from(hash, 'hex'), keyedHash(key, secret));
}

/** True if two secrets are the same. The time it takes does not reveal how much of them matches. */
export function isSameSecret(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let differing = 0;
  for (let index = 0; index < one.length; index += 1)
    differing |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return differing === 0;
}

function keyedHash(key: string, secret: string): Buffer {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(secret).digest();
}
