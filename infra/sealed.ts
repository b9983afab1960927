import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { assert } from './assert.ts';

/**
 * Texts that lie where others may read, such as secrets in a record of the bus: encrypted and authenticated by
 * AES-256-GCM. In base64: a byte that says how it is laid out, the nonce, the cipher text, the tag.
 *
 * The place is authenticated with it, so that a sealed text opens only where it was put: whoever can write records, and
 * has no key, cannot make one record speak with the secret of another. A nonce is 12 random bytes; some billions of texts
 * may be sealed with one key before two have the same by any chance that matters.
 */
const ALGORITHM = 'aes-256-gcm';
const LAYOUT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES;
const KEY = /^[0-9a-f]{64}$/i;

/** Thrown where there is no key to seal with; the message is fit to be shown as it is. */
export class SealingKeyError extends Error {
  override readonly name = 'SealingKeyError';
}

/**
 * Seals `text` with a key of 64 hexadecimal digits, for one place alone. The same text is never sealed twice alike.
 * @throws {SealingKeyError} when `key` is empty
 */
export function seal(key: string, place: string, text: string): string {
  if (key === '') throw new SealingKeyError('SECRETS_KEY is not set, so that no secret can be kept here');
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, keyBytes(key), nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(placeBytes(place));
  const sealed = [Buffer.of(LAYOUT), nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString('base64');
}

/**
 * The text that was sealed for this place. Undefined where it cannot be opened: another key or none, another place,
 * changed, cut off, or laid out in a way that is not known here.
 */
export function unseal(key: string, place: string, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  if (key === '' || bytes.length < HEAD_BYTES + TAG_BYTES || bytes[0] !== LAYOUT) return undefined;
  const nonce = bytes.subarray(1, HEAD_BYTES);
  const decipher = createDecipheriv(ALGORITHM, keyBytes(key), nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(placeBytes(place));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const opened = decipher.update(bytes.subarray(HEAD_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([opened, decipher.final()]).toString('utf8');
  } catch {
    return undefined; // What it means that the tag does not fit is the caller's to say.
  }
}

function keyBytes(key: string): Buffer {
  assert(KEY.test(key), 'a key has 64 hexadecimal digits');
  return Buffer.from(key, 'hex');
}

/** The layout is authenticated, too: bytes of one are never taken for bytes of another. */
function placeBytes(place: string): Buffer {
  return Buffer.concat([Buffer.of(LAYOUT), Buffer.from(place, 'utf8')]);
}
