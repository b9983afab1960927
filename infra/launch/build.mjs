import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastLines, runNpm } from './commands.mjs';
import { Problem } from './problem.mjs';

const STAMP = 'dist/.footfall-build';
const ROOMS = ['infra', 'ingest', 'processor', 'query', 'bench'];
const FILES = ['package.json', 'package-lock.json', 'tsconfig.json'];

/**
 * True if dist/ was built from the current sources.
 * @param {string} root
 */
export function buildIsCurrent(root) {
  const stamp = join(root, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === sourceState(root);
}

/**
 * Builds dist/. The state is taken first, so that a source that changes during the build is built again next time. The
 * stamp is removed first and written last, so that an interrupted build does not count.
 * @param {string} root
 */
export async function build(root) {
  const state = sourceState(root);
  rmSync(join(root, STAMP), { force: true });
  const result = await runNpm(['run', 'build', '--silent'], { cwd: root });
  if (result.code !== 0) {
    throw new Problem('The build failed; the end of its output is above.', lastLines(result.output, 30));
  }
  writeFileSync(join(root, STAMP), state);
}

/**
 * A hash of the paths, sizes and modification times of everything that the build may read. Tests and documents are not
 * included.
 * @param {string} root
 */
export function sourceState(root) {
  const hash = createHash('sha256');
  for (const file of [...FILES, ...ROOMS.flatMap((room) => sourcesIn(root, room))]) {
    const path = join(root, file);
    if (!existsSync(path)) continue;
    const { size, mtimeMs } = statSync(path);
    hash.update(`${file}\n${size}\n${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {string[]} paths below root, sorted
 */
function sourcesIn(root, folder) {
  const path = join(root, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/(\.test\.ts|\.md|\.json)$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1))
    .sort();
}
