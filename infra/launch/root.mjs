import { dirname } from 'node:path';

/** The project's top folder. These files run from where they stand and are never bundled, so it is two above. */
export const projectRoot = dirname(dirname(import.meta.dirname));
