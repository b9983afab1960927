import { z } from 'zod';

/** CONTRACT with whoever reads the bucket of aliases: one record for each name that stands for another profile. */
export const ALIASES_BUCKET = 'aliases';

const aliasSchema = z.strictObject({ projectId: z.string(), alias: z.string(), profileId: z.string() });

/** `alias` stands for `profileId` on a site, `projectId` being what that is stored under. */
export type Alias = Readonly<z.output<typeof aliasSchema>>;

/** Reads a record; undefined when it is none. */
export function decodeAlias(bytes: Uint8Array): Alias | undefined {
  try {
    return aliasSchema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch {
    return undefined;
  }
}
