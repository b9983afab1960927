import { createHash } from 'node:crypto';
import { z } from 'zod';

/**
 * CONTRACT with whoever has a person's data erased: records of the control bucket, `erasure.<uuid>`. A request is made
 * with status `waiting`; the processor does it and leaves the receipt.
 */
export const ERASURE_PREFIX = 'erasure.';

const instant = z.iso.datetime();

export const erasureSchema = z.object({
  id: z.uuid(),
  teamId: z.string().min(1),
  projectId: z.string().min(1),
  /** See `Site` in infra/accounts/accounts.ts. */
  storedId: z.string().min(1),
  status: z.enum(['waiting', 'erasing', 'done']),
  /** The person, for as long as that is needed: null once it is done. */
  profileId: z.string().nullable(),
  /** `profileDigest` of the person, by which the receipt can be recognised. */
  profileDigest: z.string(),
  createdAt: instant,
  updatedAt: instant,
  finishedAt: instant.nullable().default(null),
  /** Rows removed so far, by table. */
  rowsRemoved: z.record(z.string(), z.number()).default({}),
});
export type Erasure = Readonly<z.output<typeof erasureSchema>>;

/** Where an erasure's record lies in the bucket. */
export function erasureKeyOf(id: string): string {
  return `${ERASURE_PREFIX}${id}`;
}

/** Tells the person of a receipt to whoever knows the id, and to nobody else: SHA-256 of the receipt's id and the profile's. */
export function profileDigest(erasureId: string, profileId: string): string {
  return createHash('sha256').update(`${erasureId}\n${profileId}`).digest('hex');
}
