import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

// ps-list and the like cannot be used, because the lock of `npm ci` needs this before any package is installed.

/**
 * True if a process with this ID runs. A zombie, which has exited but was not waited for, does not count.
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
 * A file of the process below /proc.
 * @param {number} pid
 * @param {string} file
 */
export function proc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // No /proc, no such process, or a process of another user: nothing is known in all three cases.
    return '';
  }
}

/**
 * A column that `ps` shows about the process.
 * @param {number} pid
 * @param {string} column
 * @param {...string} options
 */
export function ps(pid, column, ...options) {
  try {
    return execFileSync('ps', [...options, '-ww', '-o', column, '-p', String(pid)], {
      encoding: 'utf8',
    }).trim();
  } catch {
    return '';
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

function bootId() {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
