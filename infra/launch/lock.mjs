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
import { identityOf } from './processes.mjs';

/** @typedef {{ release(): void }} Lock */

// A lock file is written right after it is created; one that stays empty this long belongs to a writer that died.
const EMPTY_MAX_MS = 2_000;
const WAIT_MS = 100;

/**
 * Takes the lock at `path` for this process, or says which process holds it. A lock whose process is gone is taken
 * over: the file names pid and start time, so that another process that got the same pid later is not believed.
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
 * Waits until the lock is ours.
 * @param {string} path
 * @param {(heldBy: number) => void} onWait told once, when it has to wait
 * @returns {Promise<Lock>}
 */
export async function waitForLock(path, onWait) {
  let told = false;
  for (;;) {
    const taken = takeLock(path);
    if ('release' in taken) return taken;
    if (!told) onWait(taken.heldBy);
    told = true;
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
 * @returns {number | undefined} the pid of the living holder; 0 for one that is just writing its name
 */
function holderOf(path) {
  const text = readText(path);
  if (text === '') return isOld(path) ? undefined : 0;
  try {
    const { pid, identity } = JSON.parse(text);
    return typeof pid === 'number' && identity !== '' && identityOf(pid) === identity ? pid : undefined;
  } catch {
    // Not our text: whoever wrote it is not a holder we know how to respect.
    return undefined;
  }
}

/**
 * Moves the file away before deleting it: of two processes that found the same stale lock, only one can move it, so
 * the other cannot delete the lock that the first has taken meanwhile.
 * @param {string} path
 */
function removeStale(path) {
  const aside = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return; // Somebody else moved it: the next try finds out who holds it.
  }
  if (holderOf(aside) === undefined) return rmSync(aside, { force: true });
  // Between our look and our move the lock was taken over by a living process: give it back.
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
