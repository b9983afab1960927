import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The project's top folder: the nearest folder above this file that holds package.json, in the source tree and in the
 * build.
 */
export const projectRoot: string = findRoot(import.meta.dirname);

/** The version of this program from package.json. */
export function release(): string {
  const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error('package.json was not found above the program');
  return findRoot(parent);
}
