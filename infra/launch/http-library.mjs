import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Problem } from './problem.mjs';

/**
 * Throws a `Problem` unless the HTTP library's binary loads. node-version.mjs rejects known incompatible versions
 * before anything is installed; this finds the rest, such as another build of the library or a damaged file.
 * @param {string} root
 */
export function checkHttpLibrary(root) {
  try {
    createRequire(join(root, 'package.json'))('uWebSockets.js');
  } catch (error) {
    const where = `Node ${process.versions.node} (${process.platform} ${process.arch})`;
    throw new Problem(
      `The HTTP library does not load on ${where}: ${reasonIn(String(error))}. See "Machine" in README.md for its requirements.`,
    );
  }
}

/**
 * In the error, the library puts a list of versions and an empty line before the reason, and Node a list of files after
 * it.
 * @param {string} text
 */
function reasonIn(text) {
  const [first = '', second = first] = text.split('\n\n');
  return (second.split('\n')[0] ?? '').replace(/^Error: /, '').replace(/\.$/, '');
}
