import { z } from 'zod';

/** The query of endpoints without parameters. */
export const noParameters = z.strictObject({});

/** The body of requests that need none: empty, or an object without fields. */
export const noFields = z.strictObject({});
