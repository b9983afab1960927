import { createHash, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import type { KeyedBytes } from '../bus/keyed-bytes.ts';
import { encodeJson } from '../bus/mirror.ts';
import { type Client, clientKeyOf } from './accounts.ts';
import { hashSecret, isSecret, matchesSecret } from './client-auth.ts';
import { VerifyQueue } from './verify-queue.ts';

/**
 * Secrets whose hash an earlier version stored as `scrypt:<salt>:<hash>`. The first right use of such a secret replaces the
 * hash in the client's record by one of `hashSecret`. This file can be deleted when no record has an old hash any more.
 */
const OLD_HASH = /^scrypt:([0-9a-f]+):([0-9a-f]{64})$/;
const COST: ScryptOptions = { N: 1024, r: 8, p: 1 };
const HASH_BYTES = 32;
/** The most verifications that wait, in all and from one address. Each takes 2 ms. */
const WAITING_MAX = 500;
const WAITING_OF_ADDRESS_MAX = 20;
const SUCCESSORS_MAX = 10_000;

/** A secret that a sender gives for a client. */
export interface GivenSecret {
  readonly client: Pick<Client, 'id' | 'secretHash'>;
  readonly secret: string;
  /** The sender's address in its normal form. */
  readonly address: string;
}

export function isOldHash(secretHash: string): boolean {
  return OLD_HASH.test(secretHash);
}

/** Verifies secrets against old hashes, one at a time, so that a flood of wrong ones occupies one thread of the pool. */
export class OldHashes {
  readonly #bucket: KeyedBytes;
  /** New hashes by old ones, until the changed record arrives. */
  readonly #successors = new Map<string, string>();
  readonly #pending = new Map<string, Promise<boolean | 'busy'>>();
  readonly #queue = new VerifyQueue({ waitingMax: WAITING_MAX, waitingOfAddressMax: WAITING_OF_ADDRESS_MAX });

  /** `bucket` holds the control records. */
  constructor(bucket: KeyedBytes) {
    this.#bucket = bucket;
  }

  /** True if the secret is the client's; `busy` when too many verifications wait. */
  verify({ client, secret, address }: GivenSecret): boolean | 'busy' | Promise<boolean | 'busy'> {
    if (!isSecret(secret)) return false;
    const successor = this.#successors.get(client.secretHash);
    if (successor !== undefined) return matchesSecret(successor, secret);
    const key = createHash('sha256').update(`${client.secretHash}\n${secret}`).digest('base64');
    return this.#pending.get(key) ?? this.#begin(key, client, secret, address);
  }

  #begin(key: string, client: GivenSecret['client'], secret: string, address: string) {
    const running = this.#queue.run({ address }, () => matchesOld(client.secretHash, secret));
    if (running === 'busy') return running;
    const result = running.finally(() => this.#pending.delete(key));
    this.#pending.set(key, result);
    return result.then((isRight) => {
      if (isRight === true) this.#replace(client, secret);
      return isRight;
    });
  }

  #replace({ id, secretHash }: GivenSecret['client'], secret: string): void {
    if (this.#successors.has(secretHash)) return;
    const successor = hashSecret(secret);
    if (this.#successors.size >= SUCCESSORS_MAX) this.#successors.clear();
    this.#successors.set(secretHash, successor);
    // Another process was first, or the bus is unavailable: the next use of the secret tries again.
    replaceHash(this.#bucket, id, secretHash, successor).catch(() => this.#successors.delete(secretHash));
  }
}

/** Replaces the hash in a client's record if it is still `before`, and changes nothing else. */
async function replaceHash(bucket: KeyedBytes, id: string, before: string, after: string): Promise<void> {
  const key = clientKeyOf(id);
  const stored = await bucket.get(key);
  if (stored?.bytes === undefined) return;
  // The stored fields are retained as they are, also fields of a later version.
  const record = JSON.parse(Buffer.from(stored.bytes).toString('utf8')) as Record<string, unknown>;
  if (record.secretHash !== before) return;
  await bucket.put(key, encodeJson({ ...record, secretHash: after }), stored.revision);
}

async function matchesOld(secretHash: string, secret: string): Promise<boolean> {
  const [, salt = '', hash = ''] = OLD_HASH.exec(secretHash) ?? [];
  const expected = Buffer.from(hash, 'hex');
  return (
    expected.length === HASH_BYTES &&
    timingSafeEqual(expected, await derive(secret, Buffer.from(salt, 'hex')))
  );
}

function derive(secret: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(secret, salt, HASH_BYTES, COST, (error, hash) => (error === null ? resolve(hash) : reject(error)));
  });
}
