import { z } from 'zod';
import { storedIdSchema } from '../../infra/accounts/ids.ts';

/** CONTRACT between the query processes: users in the control bucket, as JSON by `user.<uuid>`. */
export const USER_PREFIX = 'user.';

/** `root` may manage, and reads every site of its team; `read` reads the sites that it is given. */
export const USER_ROLES = ['read', 'root'] as const;

const instant = z.iso.datetime();

export const userSchema = z.object({
  id: z.uuid(),
  teamId: z.string().min(1),
  name: z.string(),
  /** Unchanged from the request; `sameEmail` compares. */
  email: z.string(),
  role: z.enum(USER_ROLES),
  /** Sites of a user with the role `read`. Includes `storedId`, so a later site with the same id is a different one. */
  sites: z.array(z.object({ id: z.string(), storedId: storedIdSchema })),
  /** The output of `Passphrases`; never the passphrase. */
  passphraseHash: z.string(),
  createdAt: instant,
  updatedAt: instant,
});
export type User = Readonly<z.output<typeof userSchema>>;

export function userKeyOf(id: string): string {
  return USER_PREFIX + id;
}

/** True if two addresses are equal, ignoring case. */
export function sameEmail(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
