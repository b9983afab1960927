import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { identityOf } from './process-identity.mjs';

/** @typedef {{ release(): void }} Lock */

// A lock file is written right after it is created, so one that stays empty this long belongs to a process that died.
const EMPTY_MAX_MS = 2_000;
const WAIT_MS = 100;

/**
 * Takes the lock at `path` for this process, or returns the process that owns it. The lock of a process that has ended is taken over; the
 * file contains process ID and start time, so a reused process ID is recognized.
 *
 * proper-lockfile cannot be used, because this lock guards `npm ci` itself.
 * @param {string} path
 * @returns {Lock | { heldBy: number }}
 */
export function takeLock(path) {
  mkdirSync(dirname(path), { recursive: true });
  const content = JSON.stringify({ pid: process.pid, identity: identityOf(process.pid) });
  for (let attempt = 0; attempt < 10; attempt++) {
    if (createFile(path, content)) return { release: () => release(path, content) };
    const holder = holderOf(path);
    if (holder !== undefined) return { heldBy: holder };
    removeStale(path);
  }
  return { heldBy: 0 };
}

/**
 * Waits until this process owns the lock.
 * @param {string} path
 * @param {(heldBy: number) => void} onWait called once if it has to wait
 * @returns {Promise<Lock>}
 */
export async function waitForLock(path, onWait) {
  let hasReported = false;
  for (;;) {
    const attempt = takeLock(path);
    if ('release' in attempt) return attempt;
    if (!hasReported) onWait(attempt.heldBy);
    hasReported = true;
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  }
}

/**
 * @param {string} path
 * @param {string} content
 */
function createFile(path, content) {
  try {
    const file = openSync(path, 'wx', 0o600);
    writeSync(file, content);
    closeSync(file);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * @param {string} path
 * @returns {number | undefined} the process ID of the running owner; 0 while an owner is writing its lock
 */
function holderOf(path) {
  const text = readText(path);
  if (text === '') return isOld(path) ? undefined : 0;
  try {
    const { pid, identity } = JSON.parse(text);
    return typeof pid === 'number' && identity !== '' && identityOf(pid) === identity ? pid : undefined;
  } catch {
    // Not written by this program, so its owner is unknown and the lock does not count.
    return undefined;
  }
}

/**
 * Renames the file before deleting it. If two processes found the same stale lock, only one can rename it, so the other cannot delete the
 * lock that the first has taken meanwhile.
 * @param {string} path
 */
function removeStale(path) {
  const aside = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return; // Another process moved it; the next attempt finds the owner.
  }
  if (holderOf(aside) === undefined) return rmSync(aside, { force: true });
  // A running process took the lock over between check and move: move it back.
  renameSync(aside, path);
}

/** @param {string} path */
function isOld(path) {
  try {
    return Date.now() - statSync(path).mtimeMs > EMPTY_MAX_MS;
  } catch {
    return true;
  }
}

/** @param {string} path */
function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/**
 * @param {string} path
 * @param {string} content
 */
function release(path, content) {
  if (readText(path) === content) rmSync(path, { force: true });
}
