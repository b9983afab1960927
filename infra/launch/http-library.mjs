import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Problem } from './problem.mjs';

/**
 * The SHA-256 hashes of the library's binaries, in the format of sha256sum. They are from one look at the package of the
 * lock file, so they show that a binary has changed since, whatever installed it.
 */
export const HASH_LIST = 'infra/launch/http-library.sha256';

/** @param {string} root */
export function libraryFolder(root) {
  return join(root, 'node_modules/uWebSockets.js');
}

/**
 * Throws a `Problem` unless the HTTP library's binary is one of the list and loads. node-version.mjs rejects known
 * incompatible versions before anything is installed; this finds the rest, such as another build of the library or a
 * damaged file.
 * @param {string} root
 */
export function checkHttpLibrary(root) {
  const name = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;
  const path = join(libraryFolder(root), name);
  // A file that is not there is reported by the library itself.
  if (existsSync(path)) checkHash(path, readHashes(root).get(name));
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
 * @param {string} path
 * @param {string | undefined} expected
 */
function checkHash(path, expected) {
  const actual = hashOf(readFileSync(path));
  if (actual === expected) return;
  const listed = expected === undefined ? 'not listed' : `listed as ${expected}`;
  throw new Problem(
    `${path} is not the file that was checked: its SHA-256 is ${actual}, ${listed} in ${HASH_LIST}. Delete node_modules and start again; for another version of the library, check it and replace the list ("The HTTP library" in infra/launch/README.md).`,
  );
}

/** @param {Uint8Array} bytes */
export function hashOf(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * @param {string} root
 * @returns {ReadonlyMap<string, string>} hashes by file name
 */
export function readHashes(root) {
  const lines = readFileSync(join(root, HASH_LIST), 'utf8').split('\n');
  return new Map(
    lines.flatMap((line) => {
      const [, hash, name] = /^([0-9a-f]{64}) [ *](\S+)$/.exec(line) ?? [];
      return hash === undefined || name === undefined ? [] : [/** @type {const} */ ([name, hash])];
    }),
  );
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
