import { createHash } from 'node:crypto';
import { z } from 'zod';
import { storedIdSchema } from '../infra/accounts/ids.ts';
import type { ProfileId } from '../ingest/event.ts';

/**
 * CONTRACT for erasing a person's data: records of the control bucket, `erasure.<uuid>`. A request is made with status
 * `waiting`; the processor erases the person and keeps the record as the receipt.
 */
export const ERASURE_PREFIX = 'erasure.';

const instant = z.iso.datetime();

export const erasureSchema = z.object({
  id: z.uuid(),
  teamId: z.string().min(1),
  projectId: z.string().min(1),
  /** See `Site` in infra/accounts/accounts.ts. */
  storedId: storedIdSchema.min(1),
  status: z.enum(['waiting', 'erasing', 'done']),
  /** The person's profile id; null once the erasure is done. */
  profileId: z.string().nullable(),
  /** `profileDigest` of the person, by which the receipt can be recognised later. */
  profileDigest: z.string(),
  createdAt: instant,
  updatedAt: instant,
  finishedAt: instant.nullable().default(null),
  /** Rows removed so far, by table. */
  rowsRemoved: z.record(z.string(), z.number()).default({}),
  /** Aliases that tied the person's own names together, which are erased with them. */
  aliasesErased: z.number().default(0),
  /**
   * Aliases that a sender without a secret made between the person and another name: they are removed, and data recorded under the other
   * name stays.
   */
  aliasesUndone: z.number().default(0),
});
export type Erasure = Readonly<z.output<typeof erasureSchema>>;

/** The key of an erasure's record in the control bucket. */
export function erasureKeyOf(id: string): string {
  return `${ERASURE_PREFIX}${id}`;
}

/** SHA-256 of the receipt's id and the profile's. It identifies the person of a receipt only to readers who know the profile id. */
export function profileDigest(erasureId: string, profileId: ProfileId): string {
  return createHash('sha256').update(`${erasureId}\n${profileId}`).digest('hex');
}
