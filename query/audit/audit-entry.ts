import { z } from 'zod';
import { decodeJsonContract } from '../../infra/bus/json-contract.ts';

/**
 * CONTRACT of the audit log: entries in the bucket `audit`, as JSON. An entry names the action, never a value, a secret, an
 * address or a person; so nothing of it has to be removed with a person or a site.
 */
export const AUDIT_ENTRY_VERSION = 1;

export const AUDIT_ACTORS = ['client', 'user', 'admin'] as const;

const entrySchema = z.object({
  version: z.literal(AUDIT_ENTRY_VERSION),
  /** Counts the entries of its list, from 0. */
  number: z.int().nonnegative(),
  id: z.uuid(),
  at: z.iso.datetime(),
  /** `admin`: a command on the machine of the service. */
  actor: z.enum(AUDIT_ACTORS),
  /** The client or user; null for a command. */
  clientId: z.string().nullable(),
  /** Set for root clients only. Other clients belong to a site, and their names are purged with it. */
  clientName: z.string().nullable(),
  action: z.string(),
  projectId: z.string().nullable(),
  /** Ids in the path, by parameter name. */
  ids: z.record(z.string(), z.string()),
  /** The id of the created thing. */
  made: z.string().nullable(),
  /** The same digest as in the erasure's receipt; the receipt's id cannot be checked without it. */
  profileDigest: z.string().nullable(),
  fields: z.array(z.string()),
  /** The status of the answer; null until it is known. */
  status: z.int().nullable(),
});
export type AuditEntry = Readonly<z.output<typeof entrySchema>>;

export function encodeAuditEntry(entry: AuditEntry): Uint8Array {
  return Buffer.from(JSON.stringify(entry));
}

/** @throws {DecodeError} */
export function decodeAuditEntry(bytes: Uint8Array): AuditEntry {
  return decodeJsonContract(bytes, {
    name: 'audit entry',
    versions: [AUDIT_ENTRY_VERSION],
    schema: entrySchema,
  });
}
