import { dirname } from 'node:path';

/** The project's top folder, two levels above these files, which are never bundled. */
export const projectRoot = dirname(dirname(import.meta.dirname));
