import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../../../infra/config.ts';
import type { NoteWriter } from '../table.ts';
import { type BackupPlace, bytesOf, SIGNATURE_FILE } from './backup-place.ts';

const FORMAT = 'footfall signature';
const VERSION = 1;
const FINGERPRINT_BYTES = 8;
const SIGNATURE_MAX_BYTES = 4_096;

const signatureSchema = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  /** Identifies the key without revealing anything about it. */
  key: z.string().regex(/^[0-9a-f]{16}$/),
  hmac: z.string().regex(/^[0-9a-f]{64}$/),
});

/** The key of this service that signs manifests, and whether the operator set it. */
export interface SigningKey {
  /** 64 hexadecimal digits; undefined when this program does not know it. */
  readonly secretsKey: string | undefined;
  /** Set as `SECRETS_KEY`, so backups of other machines with the same settings have it, too. */
  readonly isShared: boolean;
}

const secretsFile = z.looseObject({ secretsKey: z.string().regex(/^[0-9a-f]{64}$/i) });

/** `SECRETS_KEY`, or the key that the service on `DATA_DIR` generated. */
export function signingKeyOf({
  SECRETS_KEY,
  NATS_URL,
  DATA_DIR,
}: Pick<Config, 'SECRETS_KEY' | 'NATS_URL' | 'DATA_DIR'>): SigningKey {
  if (SECRETS_KEY !== '') return { secretsKey: SECRETS_KEY, isShared: true };
  // With a bus elsewhere, the key of this folder may be of another service.
  const secretsKey = NATS_URL === '' ? generatedKey(DATA_DIR) : undefined;
  return { secretsKey, isShared: false };
}

function generatedKey(dataDir: string): string | undefined {
  try {
    return secretsFile.parse(JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8'))).secretsKey;
  } catch {
    return undefined;
  }
}

/** Signs the bytes of a manifest that is about to be written; without a key there is no signature. */
export async function writeSignature(
  place: BackupPlace,
  manifest: Uint8Array,
  { secretsKey }: SigningKey,
): Promise<void> {
  if (secretsKey === undefined) return;
  const signature = {
    format: FORMAT,
    version: VERSION,
    key: fingerprintOf(secretsKey),
    hmac: hmacOf(secretsKey, manifest).toString('hex'),
  };
  await place.write(SIGNATURE_FILE, [Buffer.from(`${JSON.stringify(signature)}\n`)]);
}

/**
 * Checks who wrote a manifest. A wrong signature of a key that is known here is always refused. Where the operator set the key, a backup
 * without its signature needs `unsigned`; otherwise a new machine restores the backup of another one, whose key it cannot know, with a note.
 * @throws {Error} for an operator
 */
export async function checkSignature(
  place: BackupPlace,
  manifest: Uint8Array,
  {
    key: { secretsKey, isShared },
    unsigned,
    writeNote,
  }: { readonly key: SigningKey; readonly unsigned: boolean; readonly writeNote: NoteWriter },
): Promise<void> {
  const { shown } = place;
  const bytes = await bytesOf(place, SIGNATURE_FILE, SIGNATURE_MAX_BYTES);
  const signature = bytes === undefined ? undefined : signatureSchema.safeParse(jsonOf(bytes)).data;
  if (bytes !== undefined && signature === undefined)
    throw new Error(`${shown}/${SIGNATURE_FILE} is damaged or was edited; use another backup`);
  if (secretsKey !== undefined && signature?.key === fingerprintOf(secretsKey)) {
    if (!timingSafeEqual(Buffer.from(signature.hmac, 'hex'), hmacOf(secretsKey, manifest)))
      throw new Error(`${shown}: the manifest is not the one that was signed; use another backup`);
    return;
  }
  const why =
    signature === undefined
      ? 'the manifest is not signed'
      : 'the manifest is signed with another SECRETS_KEY';
  if (isShared && !unsigned)
    throw new Error(
      `${shown}: ${why}; use a backup of a service with this SECRETS_KEY, or repeat with --unsigned if you know who wrote it`,
    );
  writeNote(`${shown}: ${why}, so it was not checked who wrote it`);
}

function hmacOf(secretsKey: string, manifest: Uint8Array): Buffer {
  return createHmac('sha256', derived(secretsKey, 'signs the manifests of backups'))
    .update(manifest)
    .digest();
}

function fingerprintOf(secretsKey: string): string {
  const mark = derived(secretsKey, 'names the key that signs the manifests of backups');
  return mark.subarray(0, FINGERPRINT_BYTES).toString('hex');
}

/** Each purpose has its own key, so a value made with one says nothing about another. */
function derived(secretsKey: string, purpose: string): Buffer {
  return createHmac('sha256', Buffer.from(secretsKey, 'hex')).update(purpose).digest();
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
