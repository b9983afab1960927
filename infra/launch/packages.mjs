import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastLines, runNpm } from './commands.mjs';
import { Problem } from './problem.mjs';

/** @typedef {{ packages?: Readonly<Record<string, { version?: string, optional?: boolean, link?: boolean }>> }} LockFile */

const STAMP = 'node_modules/.footfall-lock';

/**
 * True if the installed packages match the lock file. A stamp with the lock file's hash gives a fast answer; without it (after npm was run
 * by hand) npm's own record of the installed packages is compared.
 * @param {string} root
 */
export function packagesAreCurrent(root) {
  const lock = readText(join(root, 'package-lock.json'));
  const stamp = readText(join(root, STAMP));
  if (stamp !== '' && stamp === hashOf(lock)) return true;
  const installed = readText(join(root, 'node_modules/.package-lock.json'));
  if (lock === '' || installed === '' || !isInstalled(JSON.parse(lock), JSON.parse(installed))) return false;
  writeFileSync(join(root, STAMP), hashOf(lock));
  return true;
}

/**
 * Installs exactly the packages of the lock file, including the tools for tests, so that there is only one possible
 * state.
 * @param {string} root
 * @param {(text: string) => void} note
 */
export async function installPackages(root, note) {
  const command = existsSync(join(root, 'package-lock.json')) ? 'ci' : 'install';
  note(`npm ${command}`);
  const result = await runNpm([command, '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
  });
  if (result.code !== 0) {
    throw new Problem(
      `npm ${command} failed; the end of its output is above. Fix the cause (network, disk space) and start again.`,
      lastLines(result.output, 20),
    );
  }
  mkdirSync(join(root, 'node_modules'), { recursive: true });
  writeFileSync(join(root, STAMP), hashOf(readText(join(root, 'package-lock.json'))));
}

/**
 * True if every package of the lock file is installed in the same version. Optional packages (for other platforms) may be missing.
 * @param {LockFile} lock
 * @param {LockFile} installed
 */
export function isInstalled(lock, installed) {
  return Object.entries(lock.packages ?? {}).every(([path, wanted]) => {
    if (path === '') return true;
    const found = installed.packages?.[path];
    return found === undefined ? wanted.optional === true : found.version === wanted.version;
  });
}

/** @param {string} text */
function hashOf(text) {
  return createHash('sha256').update(text).digest('hex');
}

/** @param {string} path */
function readText(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
