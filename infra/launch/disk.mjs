import { statfsSync } from 'node:fs';

/**
 * @typedef {object} DiskOptions
 * @property {string} folder
 * @property {number} freeMinBytes
 * @property {(text: string) => void} say
 * @property {() => void} onFreed called when there is room again after the disk was full
 * @property {(folder: string) => number} [freeBytes]
 */
/** @typedef {'free' | 'low' | 'full'} DiskState */

const CHECK_EVERY_MS = 500;
const MIB = 1024 * 1024;
// Shares of the required space: with less than the first free, a disk is full, because writes may fail at any moment. It
// stays full until the second is free, so that what failed meanwhile is repaired once.
const FULL_SHARE = 1 / 4;
const FREED_SHARE = 1 / 2;

/**
 * Watches the free space of the data folder.
 *
 *     free bytes   0 ──── full ──── freeMinBytes / 4 ──── low ──── freeMinBytes ──── free
 *                       …and until freeMinBytes / 2, once it is full
 */
export class Disk {
  /** @type {DiskOptions} */
  #options;
  /** @type {DiskState} */
  #state = 'free';
  /** @type {NodeJS.Timeout} */
  #timer;

  /** @param {DiskOptions} options */
  constructor(options) {
    this.#options = options;
    this.check();
    this.#timer = setInterval(() => this.check(), CHECK_EVERY_MS);
    this.#timer.unref();
  }

  /** True if a part may have failed because of the disk. */
  get isFull() {
    return this.#state === 'full';
  }

  /** Looks now, and reports a change. */
  check() {
    const { folder, freeMinBytes, say, onFreed, freeBytes = freeBytesOf } = this.#options;
    const free = freeBytes(folder);
    const before = this.#state;
    this.#state = nextState(before, free, freeMinBytes);
    if (this.#state === before) return;
    const room = `${Math.floor(free / MIB)} MiB are free in ${folder}`;
    if (this.#state === 'full')
      say(`full: ${room}. Events are rejected until ${needed(freeMinBytes * FREED_SHARE)} are free`);
    else if (this.#state === 'low') say(`nearly full: ${room}; ${needed(freeMinBytes)} are needed`);
    else say(`${room} again`);
    if (before === 'full') onFreed();
  }

  stop() {
    clearInterval(this.#timer);
  }
}

/**
 * @param {DiskState} before
 * @param {number} freeBytes
 * @param {number} freeMinBytes
 * @returns {DiskState}
 */
export function nextState(before, freeBytes, freeMinBytes) {
  const fullBelowBytes = freeMinBytes * (before === 'full' ? FREED_SHARE : FULL_SHARE);
  if (freeBytes < fullBelowBytes) return 'full';
  return freeBytes < freeMinBytes ? 'low' : 'free';
}

/** @param {number} bytes */
function needed(bytes) {
  return `${Math.ceil(bytes / MIB)} MiB`;
}

/**
 * The bytes that programs without privileges may still write.
 * @param {string} folder
 * @returns {number} infinite where the file system does not say
 */
export function freeBytesOf(folder) {
  try {
    const { bavail, bsize, blocks } = statfsSync(folder);
    return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
