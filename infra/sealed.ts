import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { assert } from './assert.ts';

/**
 * Texts that are stored where others can read them, such as secrets in a record on the bus, encrypted and authenticated
 * with AES-256-GCM. The result is base64 of: a layout byte, the nonce, the cipher text, the tag.
 *
 * The context, such as the record's key, is authenticated as well, so a sealed text opens only in its own context: a
 * writer without the key cannot copy the secret of one record into another. A nonce is 12 random bytes, so some
 * billions of texts can be sealed with one key before a repeated nonce becomes likely enough to matter.
 */
const ALGORITHM = 'aes-256-gcm';
const LAYOUT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES;
const KEY = /^[0-9a-f]{64}$/i;

/** Thrown when there is no key to seal with. The message can be shown to the operator as it is. */
export class SealingKeyError extends Error {
  override readonly name = 'SealingKeyError';
}

/**
 * Seals `text` with a key of 64 hexadecimal digits for one context. Sealing the same text twice gives different
 * results.
 * @throws {SealingKeyError} when `key` is empty
 */
export function seal(key: string, context: string, text: string): string {
  if (key === '') throw new SealingKeyError('SECRETS_KEY is not set, so secrets cannot be stored');
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, keyBytes(key), nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(contextBytes(context));
  const sealed = [Buffer.of(LAYOUT), nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString('base64');
}

/**
 * The text that was sealed for this context. Undefined when it does not open: no key or another key, another context,
 * changed or truncated bytes, or an unknown layout.
 */
export function unseal(key: string, context: string, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  if (key === '' || bytes.length < HEAD_BYTES + TAG_BYTES || bytes[0] !== LAYOUT) return undefined;
  const nonce = bytes.subarray(1, HEAD_BYTES);
  const decipher = createDecipheriv(ALGORITHM, keyBytes(key), nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(contextBytes(context));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const opened = decipher.update(bytes.subarray(HEAD_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([opened, decipher.final()]).toString('utf8');
  } catch {
    return undefined; // The tag does not match; the caller decides what that means.
  }
}

function keyBytes(key: string): Buffer {
  assert(KEY.test(key), 'a key has 64 hexadecimal digits');
  return Buffer.from(key, 'hex');
}

/** The layout byte is authenticated too, so bytes of one layout are never read as another. */
function contextBytes(context: string): Buffer {
  return Buffer.concat([Buffer.of(LAYOUT), Buffer.from(context, 'utf8')]);
}
