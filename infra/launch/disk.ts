import { statfsSync } from 'node:fs';

export interface DiskOptions {
  readonly folder: string;
  readonly freeMinBytes: number;
  readonly say: (text: string) => void;
  /** Called when there is room again after the disk was full. */
  readonly onFreed: () => void;
  readonly freeBytes?: (folder: string) => number;
}
type DiskState = 'free' | 'low' | 'full';

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
  #options: DiskOptions;
  #state: DiskState = 'free';
  #timer: NodeJS.Timeout;

  constructor(options: DiskOptions) {
    this.#options = options;
    this.check();
    this.#timer = setInterval(() => this.check(), CHECK_EVERY_MS);
    this.#timer.unref();
  }

  /** True if a part may have failed because of the disk. */
  get isFull(): boolean {
    return this.#state === 'full';
  }

  /** Looks now, and reports a change. */
  check(): void {
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

  stop(): void {
    clearInterval(this.#timer);
  }
}

export function nextState(before: DiskState, freeBytes: number, freeMinBytes: number): DiskState {
  const fullBelowBytes = freeMinBytes * (before === 'full' ? FREED_SHARE : FULL_SHARE);
  if (freeBytes < fullBelowBytes) return 'full';
  return freeBytes < freeMinBytes ? 'low' : 'free';
}

function needed(bytes: number) {
  return `${Math.ceil(bytes / MIB)} MiB`;
}

/** The bytes that programs without privileges may still write; infinite where the file system does not say. */
export function freeBytesOf(folder: string): number {
  try {
    const { bavail, bsize, blocks } = statfsSync(folder);
    return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
