import { z } from 'zod';

/** For endpoints without parameters; any that are given are ignored. */
export const noParameters = z.object({});
