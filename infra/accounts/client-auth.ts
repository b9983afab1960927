import { createHash, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { RequestHead } from '../http/http.ts';
import type { Client } from './accounts.ts';

/** CONTRACT of everything that authenticates clients: the headers, the secret, and what is stored of the secret. */

const SECRET_PATTERN = /^sec_[0-9a-f]{40}$/;
/** A secret has 160 random bits, so it cannot be guessed from its hash, and a verification may be cheap (2 ms). */
const COST: ScryptOptions = { N: 1024, r: 8, p: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const RESULTS_MAX = 10_000;
const RESULT_TTL_MS = 60_000;
const WAITING_MAX = 500;

/** What a request says of its client. Texts; empty when absent. */
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

/** The form in which a secret is stored. */
export async function hashSecret(secret: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(secret, salt);
  return `scrypt:${salt.toString('hex')}:${hash.toString('hex')}`;
}

/** Runs a verification that has reached the head of the queue, or throws instead. */
export type VerificationRunner = (verification: () => Promise<boolean>) => Promise<boolean>;

/** Too many secrets wait to be verified; the caller may try again later. */
export class VerifierFullError extends Error {
  override readonly name = 'VerifierFullError';
}

/**
 * Says whether a secret is a client's. A result is remembered until it was not used for a minute. Its key covers the
 * stored hash, so the results of a rotated secret are of no use as soon as the new record arrives.
 */
export class SecretVerifier {
  readonly #digestKey = randomBytes(16).toString('hex');
  readonly #results = new LRUCache<string, boolean>({
    max: RESULTS_MAX,
    ttl: RESULT_TTL_MS,
    updateAgeOnGet: true,
  });
  readonly #pending = new Map<string, Promise<boolean>>();
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Answers at once when the result is known; rejects with a `VerifierFullError` when too many wait. A verification
   * goes through `run` once it has reached the head of the queue, and rejects with what that throws.
   */
  verify(
    client: Pick<Client, 'secretHash'>,
    secret: string,
    run: VerificationRunner = (verification) => verification(),
  ): boolean | Promise<boolean> {
    if (!SECRET_PATTERN.test(secret)) return false;
    const key = this.#keyOf(client.secretHash, secret);
    const verification = () => matches(client.secretHash, secret);
    return this.#results.get(key) ?? this.#pending.get(key) ?? this.#start(key, () => run(verification));
  }

  /** The result of an earlier `verify`, while it is remembered; undefined when it would have to be computed. */
  known(client: Pick<Client, 'secretHash'>, secret: string): boolean | undefined {
    if (!SECRET_PATTERN.test(secret)) return false;
    return this.#results.get(this.#keyOf(client.secretHash, secret));
  }

  #start(key: string, find: () => Promise<boolean>): Promise<boolean> {
    if (this.#pending.size >= WAITING_MAX)
      return Promise.reject(new VerifierFullError('too many secrets wait to be verified'));
    // One at a time: a flood of wrong secrets then occupies one thread of the pool and not all.
    const result = this.#last.then(find);
    this.#last = result.catch(() => undefined);
    this.#pending.set(key, result);
    return result
      .then((verified) => {
        this.#results.set(key, verified);
        return verified;
      })
      .finally(() => this.#pending.delete(key));
  }

  #keyOf(secretHash: string, secret: string): string {
    return createHash('sha256').update(`${this.#digestKey}${secretHash}\n${secret}`).digest('base64');
  }
}

/** A hash that cannot be read matches nothing. */
async function matches(secretHash: string, secret: string): Promise<boolean> {
  const [kind, salt = '', hash = ''] = secretHash.split(':');
  const expected = Buffer.from(hash, 'hex');
  if (kind !== 'scrypt' || expected.length !== HASH_BYTES) return false;
  return timingSafeEqual(expected, await derive(secret, Buffer.from(salt, 'hex')));
}

function derive(secret: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(secret, salt, HASH_BYTES, COST, (error, hash) => (error === null ? resolve(hash) : reject(error)));
  });
}
