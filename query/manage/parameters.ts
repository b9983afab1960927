import { z } from 'zod';

/** For endpoints without parameters. */
export const noParameters = z.object({});
