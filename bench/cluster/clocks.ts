import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WantedProgram } from '../../infra/testing/debian-program.ts';

/** The program for wrong clocks. */
export const FAKETIME: WantedProgram = {
  variable: 'FAKETIME',
  names: ['faketime'],
  packageName: 'faketime',
  otherwise: 'Faults and tests of clocks are left out.',
};

const LIBRARIES = '/usr/lib';
const LIBRARY = 'faketime/libfaketime.so.1';

/**
 * Wrong clocks, by the library `libfaketime`: a process started with `env` has a time of day that can be set while it runs.
 * Monotonic clocks are unaffected, like on a machine whose time is corrected. It works only for our own processes: a server of
 * the bus asks the kernel directly, without the library.
 */
export class Clocks {
  readonly #folder: string;
  readonly #library: string;

  /** Throws where the library is not installed. */
  constructor(folder: string) {
    const found = ['', ...readdirSync(LIBRARIES)]
      .map((name) => join(LIBRARIES, name, LIBRARY))
      .find(existsSync);
    if (found === undefined) throw new Error(`${LIBRARIES} has no ${LIBRARY}; install the package faketime`);
    this.#library = found;
    this.#folder = join(folder, 'clocks');
    mkdirSync(this.#folder, { recursive: true });
  }

  /** With this environment, a process reads the clock that `set` sets. */
  env(name: string): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: this.#path(name),
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // Files that the process reads keep their times.
      NO_FAKE_STAT: '1',
    };
  }

  /** Sets a clock so far ahead, or with a negative number behind. It is in force after a second. */
  set(name: string, aheadMs: number): void {
    const seconds = Math.round(aheadMs / 1_000);
    const fresh = `${this.#path(name)}.new`;
    // Never half written.
    writeFileSync(fresh, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    renameSync(fresh, this.#path(name));
  }

  /** Forgets a clock: its process has been started without it. */
  forget(name: string): void {
    rmSync(this.#path(name), { force: true });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}
