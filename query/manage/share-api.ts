import { z } from 'zod';
import { givenInstant, instant, nameField, ofSite, projectIdField } from '../definitions/record-fields.ts';
import type { Share } from '../sign-in/share-record.ts';
import { passphraseField } from './user-api.ts';

/** CONTRACT of the manage API: every body and response of `/manage/shares`. */

/** Shared links of one site. */
export const SHARES_MAX = 100;

const endField = givenInstant
  .nullable()
  .describe('From then on the link does not work. Null: until it is deleted.');
const fields = {
  name: nameField.describe('For the team; viewers do not see it.'),
  passphrase: passphraseField
    .nullable()
    .describe('What a viewer has to enter, 12 to 200 characters. Null: nothing.'),
  expiresAt: endField,
};

/** `POST /manage/shares` */
export const shareCreation = z.strictObject({
  projectId: projectIdField,
  name: fields.name,
  passphrase: fields.passphrase.optional(),
  expiresAt: fields.expiresAt.optional(),
});

/** `PATCH /manage/shares/{shareId}`; given fields replace the stored ones. */
export const shareChange = z.strictObject(fields).partial();
export type ShareChange = z.output<typeof shareChange>;

export const shareShown = z.object({
  ...ofSite,
  name: z.string(),
  needsPassphrase: z.boolean().describe('Whether a viewer has to enter a passphrase.'),
  expiresAt: instant
    .nullable()
    .describe('Time from which the link does not work, in UTC. Null: until it is deleted.'),
});
export type ShareShown = z.output<typeof shareShown>;
export const shareAnswer = z.object({ data: shareShown });
export const sharesAnswer = z.object({ data: z.array(shareShown) });
/** With the token, which is returned only once. */
export const shareCreated = z.object({
  data: shareShown.extend({
    token: z.string().describe('For `GET /shared/{token}`. Only a hash of it is stored.'),
  }),
});

/** A link as it is returned: without the hashes. */
export function shownShare({
  id,
  projectId,
  name,
  passphraseHash,
  expiresAt,
  createdAt,
  updatedAt,
}: Share): ShareShown {
  return { id, projectId, name, needsPassphrase: passphraseHash !== null, expiresAt, createdAt, updatedAt };
}
