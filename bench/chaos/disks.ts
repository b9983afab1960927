import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isAlive, runAsRoot } from './root.ts';

const ROOM = '2g';
const PAGE_BYTES = 4_096;
/** The source of a mount: the id of the process that made it. */
const MOUNT = /^footfall-(\d+) (\S+) tmpfs /gm;

/**
 * Folders of a run that have their own file system, in memory; its size can be set to the bytes stored at the moment. They end
 * with this process; the next run removes leftovers of a killed one.
 */
export class Disks implements Disposable {
  readonly #folder: string;
  readonly #names: readonly string[];
  readonly #removeOnExit = () => this[Symbol.dispose]();

  /** Throws where it is not allowed, as anywhere without root. */
  constructor(folder: string, names: readonly string[]) {
    removeLeftovers();
    this.#folder = folder;
    this.#names = names;
    process.once('exit', this.#removeOnExit);
    try {
      for (const name of names) {
        mkdirSync(this.#path(name), { recursive: true });
        runAsRoot('mount', `-t tmpfs -o size=${ROOM} footfall-${process.pid} ${this.#path(name)}`);
      }
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** Leaves `freeBytes` free. */
  fill(name: string, freeBytes = 0): void {
    const { blocks, bfree, bsize } = statfsSync(this.#path(name));
    // Used space grows between the look and the change, which the system then refuses.
    for (let more = 0; more < 100; more += 1) {
      const bytes = (blocks - bfree) * bsize + freeBytes + more * PAGE_BYTES;
      const options = ['-o', `remount,size=${bytes}`, this.#path(name)];
      if (spawnSync('mount', options, { stdio: 'ignore' }).status === 0) return;
    }
    throw new Error(`the disk of ${name} could not be filled: it grows faster than it shrinks`);
  }

  freeBytes(name: string): number {
    const { bavail, bsize } = statfsSync(this.#path(name));
    return bavail * bsize;
  }

  /** Gives the space back. */
  empty(name: string): void {
    runAsRoot('mount', `-o remount,size=${ROOM} ${this.#path(name)}`);
  }

  /** Unmounts all. */
  [Symbol.dispose](): void {
    process.off('exit', this.#removeOnExit);
    for (const name of this.#names) spawnSync('umount', ['--lazy', this.#path(name)], { stdio: 'ignore' });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}

function removeLeftovers(): void {
  const paths = [...readFileSync('/proc/mounts', 'utf8').matchAll(MOUNT)].flatMap(([, pid, path = '']) =>
    Number(pid) === process.pid || !isAlive(Number(pid)) ? [path] : [],
  );
  for (const path of paths) spawnSync('umount', ['--lazy', path], { stdio: 'ignore' });
  // Only then: a folder cannot be removed while something is mounted below it.
  for (const folder of new Set(paths.map(dirname))) rmSync(folder, { recursive: true, force: true });
}
