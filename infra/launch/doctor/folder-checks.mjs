import { closeSync, existsSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { checkWritable } from '../data-folder.mjs';
import { freeBytesOf, nextState } from '../disk.mjs';
import { RIGHTS_OF_OTHERS } from '../private-folder.mjs';
import { Problem } from '../problem.mjs';

/** @typedef {import('./examination.mjs').Finding} Finding */

const GB = 1e9;
const WRITES = 20;
const WRITE_BYTES = 4_096;
/** An event is acknowledged after a write to the disk, so this is the least time that every sender waits. */
const SYNC_ADVISED_MS = 20;
/** The bus keeps at most `BUS_BYTES_MAX` of events and the same of updates, beside the data that the store keeps for good. */
const BUS_SHARES = 2;

/**
 * @param {string} dataDir
 * @returns {{ readonly isThere: boolean, readonly findings: Finding[] }}
 */
export function examineFolder(dataDir) {
  if (!existsSync(dataDir))
    return {
      isThere: false,
      findings: [{ name: 'data', state: 'good', text: `${dataDir} will be made by the first start` }],
    };
  try {
    checkWritable(dataDir);
    const isOpen = (statSync(dataDir).mode & RIGHTS_OF_OTHERS) !== 0;
    const text = isOpen ? `${dataDir} is open to other users; a start closes it` : dataDir;
    return { isThere: true, findings: [{ name: 'data', state: isOpen ? 'advice' : 'good', text }] };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { isThere: false, findings: [{ name: 'data', state: 'problem', text: error.message }] };
  }
}

/**
 * @param {Pick<import('../settings.mjs').LaunchSettings, 'dataDir' | 'diskFreeMinBytes' | 'busBytesMax' | 'natsUrl'>} settings
 * @returns {Finding[]}
 */
export function examineDisk({ dataDir, diskFreeMinBytes, busBytesMax, natsUrl }) {
  const busBytes = natsUrl === '' ? BUS_SHARES * busBytesMax : 0;
  return [diskFinding(freeBytesOf(dataDir), diskFreeMinBytes, busBytes), examineWrites(dataDir)];
}

/**
 * @param {number} freeBytes infinite where the file system does not say
 * @param {number} leastBytes `DISK_FREE_MIN_BYTES`
 * @param {number} busBytes limit of the bus while the store is unavailable
 * @returns {Finding}
 */
export function diskFinding(freeBytes, leastBytes, busBytes) {
  if (!Number.isFinite(freeBytes))
    return { name: 'disk', state: 'good', text: 'the file system does not say how much is free' };
  const free = `${gb(freeBytes)} free`;
  const state = nextState('free', freeBytes, leastBytes);
  if (state !== 'free') {
    const effect = state === 'full' ? 'events are rejected' : 'the service is not ready';
    return {
      name: 'disk',
      state: 'problem',
      text: `${free}: ${effect}. Free space, ${gb(leastBytes)} or more.`,
    };
  }
  if (freeBytes < leastBytes + busBytes)
    return {
      name: 'disk',
      state: 'advice',
      text: `${free}: while the store is away the bus may keep ${gb(busBytes)}. Free space, or set BUS_BYTES_MAX lower.`,
    };
  return { name: 'disk', state: 'good', text: free };
}

/**
 * @param {readonly number[]} syncMs
 * @returns {Finding}
 */
export function syncFinding(syncMs) {
  const median = [...syncMs].sort((a, b) => a - b)[Math.floor(syncMs.length / 2)] ?? 0;
  const text = `a write is on the disk after ${median.toFixed(1)} ms (median of ${syncMs.length})`;
  if (median <= SYNC_ADVISED_MS) return { name: 'disk speed', state: 'good', text };
  return {
    name: 'disk speed',
    state: 'advice',
    text: `${text}. Senders wait at least that long; use a faster disk.`,
  };
}

/**
 * @param {string} dataDir
 * @returns {Finding}
 */
export function examineWrites(dataDir) {
  try {
    return syncFinding(syncTimes(dataDir));
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    return { name: 'disk speed', state: 'problem', text: `a file cannot be written (${code ?? message})` };
  }
}

/**
 * Times that writes to the data folder take until they are on the disk, in milliseconds.
 * @param {string} dataDir
 * @returns {number[]}
 */
function syncTimes(dataDir) {
  const path = join(dataDir, `doctor-${process.pid}.part`);
  const bytes = Buffer.alloc(WRITE_BYTES);
  const file = openSync(path, 'wx', 0o600);
  try {
    return Array.from({ length: WRITES }, () => {
      const startedAtMs = performance.now();
      writeSync(file, bytes);
      fsyncSync(file);
      return performance.now() - startedAtMs;
    });
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

/** @param {number} bytes */
function gb(bytes) {
  return `${(bytes / GB).toFixed(1)} GB`;
}
