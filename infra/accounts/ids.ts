import { z } from 'zod';

/** The key of a site's data on the bus, in memory and in the store; see `Site`. */
export const storedIdSchema = z.string().brand<'StoredId'>();
export type StoredId = z.output<typeof storedIdSchema>;

/**
 * Any text but the id of another kind. Ids that come from outside in dozens of places have such a type: casts there would hide more mistakes
 * than they prevent.
 */
export type SentId<Kind extends string> = string & {
  readonly [z.$brand]?: { readonly [kind in Kind]: true };
};

/** The public id of a site. */
export type SiteId = SentId<'SiteId'>;
