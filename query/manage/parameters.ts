import { z } from 'zod';

/** For endpoints without parameters. */
export const noParameters = z.object({});

/** The body of requests that need none: empty, or an object without fields. */
export const noFields = z.strictObject({});
