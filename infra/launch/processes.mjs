import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * True if a process with this ID runs. A zombie, which has exited but was not waited for, does not count.
 *
 * ps-list and the like cannot be used, because the launcher runs before any package is installed.
 * @param {number} pid
 */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
  return statFields(pid)[0] !== 'Z';
}

/**
 * A text that differs between two processes that had the same ID one after the other, for example across a reboot.
 * @param {number} pid
 * @returns {string} empty when there is no such process
 */
export function identityOf(pid) {
  const startedAtTicks = statFields(pid)[19];
  if (startedAtTicks !== undefined) return `${bootId()}:${startedAtTicks}`;
  return isAlive(pid) ? ps(pid, 'lstart=') : '';
}

/**
 * True if the process has `mark` in its command line or its environment, which means that a launcher started it.
 * @param {number} pid
 * @param {string} mark
 */
export function carriesMark(pid, mark) {
  if (mark === '' || !isAlive(pid)) return false;
  const own =
    process.platform === 'linux' ? proc(pid, 'cmdline') + proc(pid, 'environ') : ps(pid, 'command=', '-E');
  return own.includes(mark);
}

/**
 * Stops a process with SIGTERM, and with SIGKILL after `graceMs`. Resolves when it has ended.
 * @param {number} pid
 * @param {number} graceMs
 */
export async function endProcess(pid, graceMs) {
  signal(pid, 'SIGTERM');
  if (await goneWithin(pid, graceMs)) return;
  signal(pid, 'SIGKILL');
  await goneWithin(pid, 5_000);
}

/**
 * @param {number} pid
 * @param {number} waitMs
 * @returns {Promise<boolean>}
 */
export async function goneWithin(pid, waitMs) {
  const deadlineMs = Date.now() + waitMs;
  while (isAlive(pid)) {
    if (Date.now() > deadlineMs) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

/**
 * Sends a signal; a process that is already gone is not an error.
 * @param {number} pid
 * @param {NodeJS.Signals} name
 */
export function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
  }
}

/**
 * The fields of /proc/PID/stat from the third on. The second is a name in brackets that may contain anything.
 * @param {number} pid
 * @returns {string[]} empty without /proc
 */
function statFields(pid) {
  const text = proc(pid, 'stat');
  return text === '' ? [] : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/**
 * @param {number} pid
 * @param {string} file
 */
function proc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // No /proc, no such process, or a process of another user: nothing is known in all three cases.
    return '';
  }
}

function bootId() {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/**
 * @param {number} pid
 * @param {string} column
 * @param {...string} options
 */
function ps(pid, column, ...options) {
  try {
    return execFileSync('ps', [...options, '-ww', '-o', column, '-p', String(pid)], {
      encoding: 'utf8',
    }).trim();
  } catch {
    return '';
  }
}
