import { z } from 'zod';

/** The key of a site's data on the bus, in memory and in the store; see `Site`. */
export const storedIdSchema = z.string().brand<'StoredId'>();
export type StoredId = z.output<typeof storedIdSchema>;
