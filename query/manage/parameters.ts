import { z } from 'zod';

/** Of endpoints that take no parameters: what is given nevertheless is not looked at. */
export const noParameters = z.object({});
