import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { type QueuedSender, VerifyQueue } from '../../infra/accounts/verify-queue.ts';

/**
 * Passphrases of people. They are chosen by people and, unlike a secret of 160 random bits, can be found by trying, so the hash
 * is slow. scrypt with these costs takes 32 MiB and some 100 ms. The costs are in each hash, so they can be raised later.
 */
const COSTS = { N: 32_768, r: 8, p: 1 } as const;
const MEMORY_MAX_BYTES = 67_108_864;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const HASH = /^scrypt-n32768-r8-p1:([0-9a-f]{32}):([0-9a-f]{64})$/;

/** A few seconds of work; more would only let people wait. */
const WAITING = { waitingMax: 50, waitingOfAddressMax: 5 };
/** Hashed for people that do not exist, so their answer takes equally long. */
const OF_NOBODY = `scrypt-n32768-r8-p1:${'0'.repeat(32)}:${'0'.repeat(64)}`;

/** Users and shared links wait in queues of their own, so that a flood on either leaves the other open. */
export type PassphraseKind = 'users' | 'links';

/** Derives the slow hash of a passphrase. */
export type Derive = (passphrase: string, salt: Buffer) => Promise<Buffer>;

/** Makes and verifies hashes of passphrases, one at a time of each kind in this process. */
export class Passphrases {
  readonly #derive: Derive;
  readonly #queues: Readonly<Record<PassphraseKind, VerifyQueue>> = {
    users: new VerifyQueue(WAITING),
    links: new VerifyQueue(WAITING),
  };

  constructor(derive: Derive = slowHash) {
    this.#derive = derive;
  }

  /** The form in which a passphrase is stored. `ownerId` is the proven client that asks, so strangers do not hold it up. */
  hash(kind: PassphraseKind, passphrase: string, ownerId: string): 'busy' | Promise<'busy' | string> {
    return this.#queues[kind].run({ address: '', known: ownerId }, async () => {
      const salt = randomBytes(SALT_BYTES);
      const hash = await this.#derive(passphrase, salt);
      return `scrypt-n${COSTS.N}-r${COSTS.r}-p${COSTS.p}:${salt.toString('hex')}:${hash.toString('hex')}`;
    });
  }

  /** Checks a passphrase against a hash. Undefined is checked against a dummy hash, which takes equally long, and fails. */
  verify(
    kind: PassphraseKind,
    hash: string | undefined,
    passphrase: string,
    sender: QueuedSender,
  ): 'busy' | Promise<'busy' | boolean> {
    return this.#queues[kind].run(sender, async () => {
      const isRight = await this.#matches(hash ?? OF_NOBODY, passphrase);
      return hash !== undefined && isRight;
    });
  }

  async #matches(stored: string, passphrase: string): Promise<boolean> {
    const [, salt, hash] = HASH.exec(stored) ?? [];
    if (salt === undefined || hash === undefined) return false;
    return timingSafeEqual(
      Buffer.from(hash, 'hex'),
      await this.#derive(passphrase, Buffer.from(salt, 'hex')),
    );
  }
}

/** Keyboards write some letters in one of two ways, which are one here. */
function slowHash(passphrase: string, salt: Buffer): Promise<Buffer> {
  const options: ScryptOptions = { ...COSTS, maxmem: MEMORY_MAX_BYTES };
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFKC'), salt, HASH_BYTES, options, (error, hash) =>
      error === null ? resolve(hash) : reject(error),
    );
  });
}
