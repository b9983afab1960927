import { z } from 'zod';
import { boundedList } from '../../infra/http/bounded-list.ts';
import {
  describedLike,
  nameField,
  projectIdField,
  recordTimes,
  teamIdShown,
} from '../definitions/record-fields.ts';
import { USER_ROLES, type User } from '../sign-in/user-record.ts';

/** CONTRACT of the manage API: every body and response of `/manage/users`. */

/** Users of one team. */
export const USERS_MAX = 1_000;
const EMAIL_MAX = 320;
export const PASSPHRASE_MIN = 12;
export const PASSPHRASE_MAX = 200;
const SITES_MAX = 100;

export const passphraseField = z
  .string()
  .min(PASSPHRASE_MIN, `expected at least ${PASSPHRASE_MIN} characters`)
  .max(PASSPHRASE_MAX, `expected at most ${PASSPHRASE_MAX} characters`)
  .describe(`${PASSPHRASE_MIN} to ${PASSPHRASE_MAX} characters. Only a slow hash is stored.`);
const emailField = z
  .string()
  .trim()
  .max(EMAIL_MAX, `expected at most ${EMAIL_MAX} characters`)
  .regex(/^[^\s@]+@[^\s@]+$/, 'expected an e-mail address')
  .describe(
    'The e-mail address that the user signs in with. Unique among the users of the team, in upper or lower case.',
  );
const roleField = z
  .enum(USER_ROLES)
  .describe('`root`: may manage, and read every site of the team. `read`: may read the given sites.');
const sitesField = boundedList(
  z.array(projectIdField).min(1, 'expected at least one site'),
  SITES_MAX,
  `expected at most ${SITES_MAX} sites`,
).describe(
  'The sites that a user with the role `read` may read. Null for the role `root`, which covers all sites of the team.',
);

/** `POST /manage/users` */
export const userCreation = z
  .strictObject({
    name: nameField,
    email: emailField,
    role: roleField,
    sites: sitesField.optional(),
    passphrase: passphraseField,
  })
  .superRefine(({ role, sites }, context) => {
    const message = sitesProblem(role, sites);
    if (message !== undefined) context.addIssue({ code: 'custom', path: ['sites'], message });
  });

/** `PATCH /manage/users/{userId}`; given fields replace the stored ones. */
export const userChange = z
  .strictObject({
    name: nameField,
    email: emailField,
    role: roleField,
    sites: sitesField,
    passphrase: passphraseField,
  })
  .partial();
export type UserChange = z.output<typeof userChange>;

/** Returns the problem with the sites of a user of this role; undefined if there is none. */
export function sitesProblem(role: User['role'], sites: readonly unknown[] | undefined): string | undefined {
  if (role === 'root' && sites !== undefined)
    return 'not allowed for the role root, which covers all sites of the team';
  return role === 'read' && sites === undefined
    ? 'missing; the role read needs the sites that it may read'
    : undefined;
}

/** A user as it is returned: without the hash of the passphrase. */
export const userShown = z.object({
  id: z.uuid(),
  name: z.string(),
  email: describedLike(z.string(), emailField),
  role: roleField,
  sites: describedLike(z.array(z.string()).nullable(), sitesField),
  teamId: teamIdShown,
  ...recordTimes,
});
export type UserShown = z.output<typeof userShown>;
export const userAnswer = z.object({ data: userShown });
export const usersAnswer = z.object({ data: z.array(userShown) });
