import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../infra/root.ts';

const FOLDER = join(projectRoot, 'query/openapi/guides');

/**
 * The guides as one Markdown text, in the order of their file names. Each begins with a heading of the first level; the viewer lists these
 * headings above the operations and finds them in its search.
 */
export function readGuides(): string {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.md'));
  return files
    .sort()
    .map((name) => readFileSync(join(FOLDER, name), 'utf8').trim())
    .join('\n\n');
}
